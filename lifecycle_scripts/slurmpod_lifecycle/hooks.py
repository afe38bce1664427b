"""The user's own scripts, before and after all steps of a node.

They run as root, in the folder of the bundle, with the environment of `variables`. Their output is
in the log, and one that fails or hangs fails the node, as a step of ours would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from slurmpod_lifecycle.hook_program import HookProgram
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.runner import log
from slurmpod_lifecycle.settings import SETTINGS, Role
from slurmpod_lifecycle.step import StepFailed

BUNDLE = SETTINGS.parent
KILL_SECONDS = 30.0
"""How long the runner waits beyond the hook's own time limit, at which the hook is killed."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Hook(NodeStep):
    """A user's script. It runs whenever the steps do, so it must be safe to repeat."""

    roles = frozenset(Role)
    when: ClassVar[str]

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.timeout_seconds = node.settings.step_timeout_seconds + KILL_SECONDS

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment has such a script for this role."""
        return super().applies_to(node) and cls.when in _hooks(node)

    def apply(self) -> str:
        """Run it; raises StepFailed with its last line if it fails or exceeds its time limit."""
        node, path = self.node, str(BUNDLE / _hooks(self.node)[self.when])
        limit = node.settings.step_timeout_seconds
        said = ["no output"]

        def say(line: str) -> None:
            said[:] = [line]
            log.info("%s: %s", self.name, line)

        program = HookProgram(
            command=[*interpreter(node.machine.read(path) or ""), path],
            environment=variables(node, self.when),
            folder=str(BUNDLE),
            timeout_seconds=limit,
        )
        status = node.machine.run_program(program, say)
        if status == 0:
            return f"ran {_hooks(node)[self.when]}"
        how = f"did not end within {limit} s" if status is None else f"ended with status {status}"
        reason = f"{_hooks(node)[self.when]} {how}: {said[0]}"
        raise StepFailed(reason, f"correct the script of lifecycle.hooks.{node.role.value}")


class HookBefore(Hook):
    """The script that runs before all steps except `identify`."""

    name = "hook_before"
    when = "before"


class HookAfter(Hook):
    """The script that runs after all other steps."""

    name = "hook_after"
    when = "after"


def with_hooks(node: Node, steps: Sequence[NodeStep]) -> tuple[NodeStep, ...]:
    """Return a node's steps, with its hooks before and after them."""
    before = [HookBefore(node)] if HookBefore.applies_to(node) else []
    after = [HookAfter(node)] if HookAfter.applies_to(node) else []
    for step in steps:
        step.needs = (*step.needs, *(each.name for each in before))
    for last in after:
        last.needs = tuple(each.name for each in (*before, *steps))
    return (*before, *steps, *after)


def interpreter(text: str) -> list[str]:
    """Return the interpreter of a script from its first line; S3 does not keep file modes."""
    return text.partition("\n")[0].removeprefix("#!").strip().split(maxsplit=1)


def variables(node: Node, when: str) -> Mapping[str, str]:
    """Return the whole environment of a hook, as promised in docs/lifecycle.md."""
    return {
        "PATH": PATH,
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "SLURMPOD_WHEN": when,
        "SLURMPOD_CLUSTER": node.settings.cluster_name,
        "SLURMPOD_REGION": node.settings.region,
        "SLURMPOD_ROLE": node.role.value,
        "SLURMPOD_GROUP": node.instance.group,
        "SLURMPOD_NODE_NAME": node.name,
        "SLURMPOD_INSTANCE_ID": node.instance.id,
        "SLURMPOD_ADDRESS": node.instance.address,
    }


def _hooks(node: Node) -> Mapping[str, str]:
    return node.settings.node.hooks.get(node.role.value, {})
