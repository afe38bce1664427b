"""Problems in a node's own services, folders, disks, devices and clock. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.cluster import Role
from slurmpod.operations.why.node_now import NodeNow
from slurmpod.operations.why.node_reasons import GPUS
from slurmpod.operations.why.own_facts import FULL_PERCENT, OwnFacts
from slurmpod.operations.why.story import Cause

LATE_SECONDS = 300
"""munge refuses credentials that are older than this, or from the future."""


def own_causes(node: NodeNow) -> Iterator[Cause]:
    """Yield the problems of the node's own services, folders, disks and devices."""
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
            f"start it on the node: `sudo systemctl start slurmd`{wait}",
        )
    for service in ("munge", "slurmctld", "slurmdbd", "nvidia-fabricmanager"):
        state = own.services.get(service, "active")
        wanted = service == "munge" or node.role is Role.CONTROLLER or "nvidia" in service
        if (wanted and state == "failed") or (service == "munge" and state == "inactive"):
            yield Cause(
                f"{service} does not run on the node ({state}){_without(service)}",
                f"start it on the node: `sudo systemctl restart {service}`",
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
            "drain it: slurmpod node drain ENV NODE; then on the node: `sudo systemctl restart"
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
                f"make room on the node: `sudo du -x --max-depth=2 {path} | sort -n`",
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
            "set it on the node: `sudo systemctl restart chrony`, `chronyc tracking`",
        )
