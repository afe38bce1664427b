"""Groups whose nodes lack a library that the controller's plugstack.conf requires.

All nodes use the controller's plugstack.conf, but their own libraries. HyperPod's image of July
2026 requires pyxis: once the controller has it, slurmd does not restart on nodes of an image
without pyxis until they have the newer image, too. `optional` instead of `required` would let such
a node run jobs that ask for a container, without one.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping

from slurmpod.aws.cluster import Node
from slurmpod.operations.questions import as_root, question
from slurmpod.operations.slurm_remote import RemoteSlurm

REQUIRED, ABSENT = "required", "absent"

PLUGSTACK = "/opt/slurm/etc/plugstack.conf"
_REQUIRED = question(
    REQUIRED,
    f"sed -n 's,^[[:space:]]*required[[:space:]]*\\(/[^[:space:]]*\\).*,\\1,p' {PLUGSTACK}",
)
"""Libraries with a path; one that has only a name is Slurm's own or HyperPod's."""

Ask = Callable[[Node, str], Mapping[str, str]]
"""Runs a command from `as_root` on a node."""


def groups_without(slurm: RemoteSlurm, nodes: Iterable[Node], ask: Ask) -> Mapping[str, str]:
    """Return the missing library by group; raises AwsUnavailable.

    All nodes of a group have one image, so only its first running node is queried.
    """
    libraries = slurm.answers(_REQUIRED)[REQUIRED].split()
    if not libraries:
        return {}
    command = as_root(question(ABSENT, _absent(libraries)))
    firsts: dict[str, Node] = {}
    for node in nodes:
        if node.status == "Running":
            firsts.setdefault(node.group, node)
    found = {group: ask(node, command)[ABSENT].split() for group, node in firsts.items()}
    return {group: absent[0] for group, absent in found.items() if absent}


def _absent(libraries: Iterable[str]) -> str:
    listed = shlex.join(libraries)
    return f'for library in {listed}; do [ -e "$library" ] || echo "$library"; done'
