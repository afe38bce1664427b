"""Why a node does not take jobs, or not well: of what holds now, the most urgent first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from slurmpod.aws.cluster import CHECKING, IN_SERVICE, Node
from slurmpod.environment.cluster import Role
from slurmpod.operations.why.cluster_moments import CHECK_UNDER_WAY
from slurmpod.operations.why.meanings import REPLACE, RESUME, WAIT, meaning_of
from slurmpod.operations.why.node_lines import STATE, field, setting, starts_on_node
from slurmpod.operations.why.node_reasons import GPUS, NODE_REASONS, SYMPTOM
from slurmpod.operations.why.own_facts import FULL_PERCENT, OWN, OwnFacts, read_own
from slurmpod.operations.why.story import Cause

OUT_OF_SERVICE = frozenset({"DOWN", "DRAIN", "FAIL", "FUTURE", "UNKNOWN", "ERROR"})
LATE_SECONDS = 300
"""munge refuses what is older than this, or from the future."""

ON_NODE = "on the node"


@dataclass(frozen=True)
class NodeNow:
    """A node as everybody sees it now.

    `line` is what scontrol says; `live` is None for an instance that SageMaker does not list;
    `starts` says of each job that ended there lately whether it could be started at all.
    """

    name: str
    role: Role
    line: str
    flags: frozenset[str]
    reason: str
    who: str
    live: Node | None
    own: OwnFacts | None
    now: datetime
    gpus: int = 0
    slurmd_timeout: str = ""
    starts: tuple[bool, ...] = ()

    @property
    def is_out(self) -> bool:
        """Whether Slurm starts no job there because of its state."""
        return bool(self.flags & OUT_OF_SERVICE)


def node_now(
    name: str,
    role: Role,
    live: Node | None,
    slurm: Mapping[str, str],
    own: Mapping[str, str],
    now: datetime,
) -> NodeNow:
    """Read what a controller and a node itself answered of the node; either may be empty."""
    line = slurm.get(STATE, "")
    reason = re.fullmatch(r"(?P<text>.*?)(?: \[(?P<who>[^][@]*)@[^][]*\])?", field(line, "Reason"))
    gpus = re.search(r"\bgpu(?::[^:(,\s]+)?:(\d+)", field(line, "Gres"))
    return NodeNow(
        name=name,
        role=role,
        line=line,
        flags=flags_of(field(line, "State")),
        reason=reason["text"] if reason else "",
        who=(reason["who"] or "") if reason else "",
        live=live,
        own=read_own(own[OWN]) if OWN in own else None,
        now=now,
        gpus=int(gpus[1]) if gpus else 0,
        slurmd_timeout=setting(slurm, "SlurmdTimeout"),
        starts=tuple(started for _, started in starts_on_node(slurm)),
    )


def shown_state(node: NodeNow) -> str:
    """Return Slurm's state of a node with its reason, as scontrol has both."""
    reason = field(node.line, "Reason")
    return f"{field(node.line, 'State')}{': ' if reason else ''}{reason}"


def flags_of(state: str) -> frozenset[str]:
    """Return the words of a node's state, as scontrol shows it."""
    return frozenset(word for word in state.replace("*", "+NOT_RESPONDING").split("+") if word)


def causes_of_node(node: NodeNow) -> list[Cause]:
    """Return what is wrong with a node now, the most urgent first; nothing where all is well."""
    if "Unable to contact" in node.line and (silent := meaning_of(node.line)):
        return [Cause(silent.says, silent.fix), *_own(node)]
    return [*_sagemaker(node), *_slurm(node), *_starts(node), *_flags(node)]


def _sagemaker(node: NodeNow) -> Iterator[Cause]:
    if node.live is None or node.live.status == IN_SERVICE:
        return
    status, message = node.live.status, node.live.message
    if status == CHECKING and (check := meaning_of(CHECK_UNDER_WAY)):
        yield Cause(check.says, check.fix)
        return
    fix = {"Failure": REPLACE}.get(status, WAIT)
    yield Cause(f"SageMaker says {status}{': ' if message else ''}{message}", fix)


def _slurm(node: NodeNow) -> Iterator[Cause]:
    own = list(_own(node))
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
    who = "somebody" if node.who in ("", "slurm") else node.who
    return Cause(f"{who} took the node out of service: {node.reason}", RESUME)


def _unknown(node: NodeNow) -> Iterator[Cause]:
    if node.role is not Role.WORKER or node.flags or node.live is None:
        return
    if "not found" in node.line:
        yield Cause(
            "Slurm does not know the node, though its instance runs",
            "see whether its scripts ended: slurmpod lifecycle report ENV",
        )


def _own(node: NodeNow) -> Iterator[Cause]:
    """Yield what the node's own services, folders, disks and devices show."""
    if node.own is None:
        return
    yield from _services(node, node.own)
    yield from _folders(node, node.own)
    yield from _devices(node, node.own)


def _services(node: NodeNow, own: OwnFacts) -> Iterator[Cause]:
    slurmd = own.services.get("slurmd", "active")
    if node.role is Role.WORKER and slurmd not in ("active", "activating", "reloading"):
        late = f", or wait until Slurm sets the node down ({node.slurmd_timeout} without an answer)"
        wait = late if node.slurmd_timeout and not node.is_out else ""
        yield Cause(
            f"slurmd does not run on the node ({slurmd})",
            f"start it {ON_NODE}: `sudo systemctl start slurmd`{wait}",
        )
    for service in ("munge", "slurmctld", "slurmdbd", "nvidia-fabricmanager"):
        state = own.services.get(service, "active")
        wanted = service == "munge" or node.role is Role.CONTROLLER or "nvidia" in service
        if (wanted and state == "failed") or (service == "munge" and state == "inactive"):
            yield Cause(
                f"{service} does not run on the node ({state}){_without(service)}",
                f"start it {ON_NODE}: `sudo systemctl restart {service}`",
            )


def _without(service: str) -> str:
    return {
        "munge": ": Slurm refuses all that the node says",
        "nvidia-fabricmanager": ": its GPUs cannot reach each other",
        "slurmdbd": ": no record of a job is kept",
    }.get(service, "")


def _folders(node: NodeNow, own: OwnFacts) -> Iterator[Cause]:
    if node.role is Role.WORKER and own.spool == "absent":
        yield Cause(
            "slurmd's spool folder is not there: the node takes jobs and cannot start them",
            f"drain it: slurmpod node drain ENV NODE; then {ON_NODE}: `sudo systemctl restart"
            " slurmd`, or reboot it: slurmpod node reboot ENV NODE",
        )
    for path, state in own.mounts.items():
        if state == "silent":
            yield Cause(
                f"the file system at {path} does not answer",
                "look at the file system: slurmpod status ENV; processes that wait for it go on"
                " when it answers",
            )
        elif state == "absent":
            yield Cause(
                f"{path} is not mounted on the node",
                "run the scripts there again: slurmpod lifecycle run ENV --group GROUP --node NODE",
            )
    for path, percent in own.disks.items():
        if percent >= FULL_PERCENT:
            yield Cause(
                f"the disk at {path} is full ({percent} % of its space or inodes)",
                f"make room {ON_NODE}: `sudo du --one-file-system --max-depth=2 {path} | sort -n`",
            )


def _devices(node: NodeNow, own: OwnFacts) -> Iterator[Cause]:
    if own.gpus is not None and own.gpus < node.gpus:
        yield Cause(
            f"the node shows {own.gpus} of its {node.gpus} GPUs: driver, fabric manager or card",
            GPUS,
        )
    if own.clock is not None and abs(own.clock - node.now.timestamp()) > LATE_SECONDS:
        off = round(own.clock - node.now.timestamp())
        yield Cause(
            f"the clock of the node is off by {off} s: munge refuses all that it says",
            f"set it {ON_NODE}: `sudo systemctl restart chrony`, `chronyc tracking`",
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
"""States that keep jobs away though the node is not out of service."""


def _flags(node: NodeNow) -> Iterator[Cause]:
    if node.is_out:
        return
    for pattern, says, fix in _FLAGS:
        if any(re.fullmatch(pattern, flag) for flag in node.flags):
            yield Cause(says, fix)
