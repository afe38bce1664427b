"""Why a node takes no jobs, or has trouble: current causes, the most urgent first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.aws.cluster import CHECKING, IN_SERVICE
from slurmpod.environment.cluster import Role
from slurmpod.operations.why.cluster_moments import CHECK_UNDER_WAY
from slurmpod.operations.why.meanings import REPLACE, RESUME, WAIT, meaning_of
from slurmpod.operations.why.node_now import NodeNow
from slurmpod.operations.why.node_reasons import NODE_REASONS, SYMPTOM
from slurmpod.operations.why.own_causes import own_causes
from slurmpod.operations.why.story import Cause
from slurmpod.slurm.nodes import OUT_OF_SERVICE


def causes_of_node(node: NodeNow) -> list[Cause]:
    """Return the node's current problems, the most urgent first; none if it is healthy."""
    if "Unable to contact" in node.line and (silent := meaning_of(node.line)):
        return [Cause(silent.says, silent.fix), *own_causes(node)]
    return [*_sagemaker(node), *_slurm(node), *_starts(node), *_flags(node)]


def _sagemaker(node: NodeNow) -> Iterator[Cause]:
    if node.live is None:
        return
    if (node.is_checked and node.is_out) or node.live.status == CHECKING:
        check = meaning_of(CHECK_UNDER_WAY)
        assert check is not None  # noqa: S101  # a row of the table
        yield Cause(check.says, check.fix)
        return
    if node.live.status == IN_SERVICE:
        return
    status, message = node.live.status, node.live.message
    fix = {"Failure": REPLACE}.get(status, WAIT)
    yield Cause(f"SageMaker says {status}{': ' if message else ''}{message}", fix)


def _slurm(node: NodeNow) -> Iterator[Cause]:
    own = list(own_causes(node))
    if not node.is_out:
        yield from own
        yield from _unknown(node)
        return
    meant = meaning_of(node.reason, NODE_REASONS)
    if meant is None:
        yield _by_somebody(node)
        yield from own
    elif meant.weight <= SYMPTOM:
        yield from own
        yield Cause(meant.says, meant.fix)
    else:
        yield Cause(meant.says, meant.fix)
        yield from own


def _by_somebody(node: NodeNow) -> Cause:
    if not node.reason:
        states = ", ".join(sorted(node.flags & OUT_OF_SERVICE))
        return Cause(f"Slurm has it as {states}, and gives no reason", RESUME)
    who = "a user" if node.who in ("", "slurm") else node.who
    return Cause(f"{who} took the node out of service: {node.reason}", RESUME)


def _unknown(node: NodeNow) -> Iterator[Cause]:
    if node.role is not Role.WORKER or node.flags or node.live is None:
        return
    if "not found" in node.line:
        yield Cause(
            "Slurm does not know the node, though its instance runs",
            "see whether its scripts ended: slurmpod lifecycle report ENV",
        )


def _starts(node: NodeNow) -> Iterator[Cause]:
    failed = 0
    for started in node.starts:
        failed = 0 if started else failed + 1
    if failed and not node.is_out:
        jobs = "job" if failed == 1 else f"{failed} jobs"
        yield Cause(
            f"the node takes jobs and cannot start them: the last {jobs} there had to be requeued",
            "see why: slurmpod logs ENV --node NODE --kind slurm; drain it: slurmpod node drain ENV"
            " NODE; then restart slurmd there, or reboot it: slurmpod node reboot ENV NODE",
        )


_FLAGS = (
    (
        "INVALID_REG",
        "slurmctld does not accept how the node registers: its hardware is not that of slurm.conf",
        "compare `slurmd -C` on the node with slurm.conf: slurmpod observe ENV --compare",
    ),
    (
        "REBOOT_ISSUED|REBOOT_REQUESTED",
        "Slurm reboots the node (`scontrol reboot`) as soon as its jobs have ended",
        WAIT,
    ),
    (
        "POWERED_DOWN|POWERING_DOWN|POWER_DOWN",
        "power saving has the node switched off",
        "switch it on: `scontrol update nodename=NODE state=power_up` on a login node",
    ),
    ("POWERING_UP|POWER_UP", "power saving switches the node on", WAIT),
    (
        "NOT_RESPONDING",
        "slurmd on the node has not answered Slurm's last question",
        "see why: slurmpod logs ENV --node NODE --kind slurm",
    ),
    (
        "MAINTENANCE|RESERVED",
        "a reservation holds the node: only its users get it",
        "see which: `scontrol show reservation` on a login node",
    ),
    (
        "BLOCKED",
        "a job that has other nodes of the topology for itself blocks the node",
        "wait for that job",
    ),
    (
        "EXTERNAL",
        "Slurm has the node as an external one: no slurmd is asked, and no job starts there",
        "take External=yes out of slurm.conf if it shall take jobs",
    ),
)
"""States that keep jobs away although the node is not out of service."""


def _flags(node: NodeNow) -> Iterator[Cause]:
    if node.is_out:
        return
    for pattern, says, fix in _FLAGS:
        if any(re.fullmatch(pattern, flag) for flag in node.flags):
            yield Cause(says, fix)
