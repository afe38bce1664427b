"""Rules for packages that nodes may lack: each once, for nodes that there are, and of use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.artefact_needs import architectures, is_missing, needed
from slurmpod.rules.groups import CATALOG, all_types_known
from slurmpod.rules.lifecycle import is_ours
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved

ARTEFACTS = Area("ART", "Packages for nodes")

MODEL = "slurmpod/model/lifecycle.py"
ENROOT = "https://github.com/NVIDIA/enroot/blob/main/doc/installation.md"

NEEDED_FOR_CONTAINERS = ("enroot", "pyxis")
"""Without enroot_caps users build no images on nodes; containers run all the same."""


@ARTEFACTS.rule(
    "ART-001",
    "Every package is listed once for each architecture",
    why="A node installs one package of a name: of two, one would never arrive anywhere.",
    fix="remove one of the two, or correct its architecture",
    source=MODEL,
)
def _listed_once(environment: Environment, _: Resolved) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for index, artefact in enumerate(environment.lifecycle.artefacts):
        key = (artefact.name, artefact.architecture)
        if key in seen:
            message = f"'{artefact.name}' is listed for {artefact.architecture} already"
            yield Finding(_at(index, "name"), message)
        seen.add(key)


@ARTEFACTS.rule(
    "ART-002",
    "Every package is for nodes that there are",
    why="Nodes install what is for their own processors only. Mirrored and kept up to date, the "
    "package still serves nobody.",
    fix="remove the entry, or correct its architecture",
    source=CATALOG,
    severity=Severity.WARNING,
)
def _for_nodes_that_there_are(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if not all_types_known(environment):
        return
    there_are = architectures(environment)
    for index, artefact in enumerate(environment.lifecycle.artefacts):
        if artefact.architecture not in there_are:
            key = "architecture" if "architecture" in artefact.model_fields_set else "name"
            message = f"no group has instances with {artefact.architecture} processors"
            yield Finding(_at(index, key), message)


@ARTEFACTS.rule(
    "ART-003",
    "Every package is of use",
    why="Steps install what they need: the packages of enroot and pyxis for containers, mount_s3 "
    "for buckets as folders. What no step needs is installed nowhere.",
    fix="remove the entry, or ask for what needs it: lifecycle.containers, storage.s3_mounts",
    source=MODEL,
    severity=Severity.WARNING,
)
def _is_of_use(environment: Environment, _: Resolved) -> Iterator[Finding]:
    wanted = needed(environment)
    for index, artefact in enumerate(environment.lifecycle.artefacts):
        if artefact.name not in wanted:
            yield Finding(_at(index, "name"), f"nothing asks for '{artefact.name}'")


@ARTEFACTS.rule(
    "ART-004",
    "In a closed network nodes can get what containers need",
    why="HyperPod's images of January 2026 and later have enroot and pyxis. On one that lacks "
    "them, nodes of a closed network can install only what the environment's bucket holds.",
    fix="list the packages under lifecycle.artefacts and run `slurmpod artefacts mirror`, or "
    "accept the warning where the image has them",
    source=ENROOT,
    severity=Severity.WARNING,
)
def _containers_without_internet(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    if not (environment.lifecycle.containers and resolved.network.closed and is_ours(resolved)):
        return
    missing = [name for name in NEEDED_FOR_CONTAINERS if is_missing(environment, name)]
    if missing:
        message = f"{' and '.join(missing)} would have to be on the image"
        yield Finding(("lifecycle", "containers"), message)


def _at(index: int, key: str) -> YamlPath:
    return ("lifecycle", "artefacts", index, key)
