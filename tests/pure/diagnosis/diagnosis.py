"""Broken states as data: what a controller and a node answer, and what `why` must name of it.

`tests/cases/states` has for each recorded answers of real nodes, or a short form (`state`,
`reason`, `own`, `job`), of which the answers are put together here in the form that was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.cluster_logs import ClusterLogs
from slurmpod.operations.why.story import Story
from slurmpod.operations.why.why import NOBODY, Witnesses
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.cluster_at_work import Cluster
from tests.sound_environment import SOUND

STATES = Path(__file__).parents[2] / "cases" / "states"
NOW = datetime(2026, 11, 27, 22, 0, tzinfo=UTC)
CLOCK = int(NOW.timestamp())
HEAD = ("controller", "i-0", "10.0.128.4", "Running", "")
WORKER = "ip-10-0-128-7"
MISSING = "slurm_load_jobs error: Invalid job id specified"
SHAPES = "dev*|2|4|16384|(null)|idle\ndev*|1|8|32768|(null)|idle\ncpu|2|4|16384|(null)|idle\n"
PARTITIONS = "PartitionName=dev MaxTime=2-00:00:00 State=UP\nPartitionName=cpu MaxTime=1-00:00:00\n"
QOS = "normal|\nspare|\nurgent|01:00:00\nsmall|\n"
OWN = {
    "clock": f"clock {CLOCK}",
    "slurmd": "service slurmd ActiveState=active LoadState=loaded",
    "munge": "service munge ActiveState=active LoadState=loaded",
    "root": "disk /   12%    1%",
    "fsx": "mount /fsx 0",
    "spool": "spool there",
}
MOVED = "moving rack, back at 18:00"


PROVED = {
    "jobs": "recorded, Slurm 24.11",
    "nodes": "recorded, Slurm 24.11",
    "slurm_26_05": "recorded, Slurm 26.05",
    "job_states": "composed",
    "node_states": "composed",
}
"""Where the answers of each file of states come from."""


class Verdict(StrEnum):
    """How a cause was named: wrongly is worse than not at all."""

    RIGHT = "right"
    WRONG = "wrong"
    UNNAMED = "not named"


@dataclass(frozen=True)
class State:
    """A broken state at one moment; the cause has all of `says` and `fix`, and none of `never`."""

    name: str
    moment: str
    subject: str
    controller: Mapping[str, str]
    node: Mapping[str, str]
    says: tuple[str, ...]
    fix: tuple[str, ...]
    never: tuple[str, ...] = ()
    began: str = ""
    sagemaker: tuple[str, str] = ("Running", "")
    launched: datetime = NOW - timedelta(days=2)
    proved: str = ""

    def story(self) -> Story:
        """Ask `why`, of a cluster that answers so."""
        name = self.subject if self.subject.startswith("ip-") else WORKER
        workers = {name, *(f"ip-10-0-128-{n}" for n in (5, 6, 7, 8))}
        nodes = [HEAD]
        for number, worker in enumerate(sorted(workers), 1):
            address = worker.removeprefix("ip-").replace("-", ".")
            status = self.sagemaker if worker == name else ("Running", "")
            nodes.append(("workers", f"i-{number}", address, *status))
        cluster = Cluster(nodes, began=self.launched)
        cluster.answers_of["i-0"] = _lines(self.controller)
        for _, instance_id, *_ in nodes[1:]:
            cluster.answers_of[instance_id] = _lines(self.node)
        clients: Any = cluster.clients()
        return Witnesses(
            ClusterView(clients),
            ClusterLogs(clients),
            cluster.sessions(),
            _resolved(),
            "dev.yaml",
            NOW,
            24,
        ).why(self.subject)

    def verdict(self, story: Story) -> Verdict:
        """Return how the cause was named."""
        says, fix = story.cause.says, story.cause.fix
        is_right = all(word in says for word in self.says) and all(word in fix for word in self.fix)
        if is_right and self.began in story.began and not any(word in says for word in self.never):
            return Verdict.RIGHT
        return Verdict.UNNAMED if says == NOBODY or says.startswith("it waits: ") else Verdict.WRONG


def _lines(answers: Mapping[str, str]) -> dict[str, str]:
    return {name: f"{text.rstrip()}\n" for name, text in answers.items()}


@cache
def _resolved() -> Resolved:
    return resolve(read_as("dev.yaml", SOUND))


def states() -> Iterator[State]:
    """Yield every broken state at each of its moments."""
    for file in sorted(STATES.glob("*.yaml")):
        for entry in yaml.safe_load(file.read_text()):
            yield from _moments(entry, PROVED[file.stem])


def _moments(entry: Mapping[str, Any], proved: str) -> Iterator[State]:
    during = State(
        name=entry["name"],
        moment="during",
        subject=entry.get("subject", "7" if "job" in entry else WORKER),
        controller=_controller(entry),
        node=_node(entry),
        says=tuple(entry["says"]),
        fix=tuple(entry["next"]),
        never=tuple(entry.get("never", ())),
        began=entry.get("began", ""),
        sagemaker=(entry.get("status", "Running"), entry.get("message", "")),
        proved=proved,
    )
    yield during
    if during.subject.startswith("ip-"):
        yield from _later(during)
    elif "JobState=" in during.controller["state"] and during.controller.get("records"):
        yield from _forgotten(during, entry)


def _later(during: State) -> Iterator[State]:
    """Yield a node that was cured and then drained by a person, and one that was replaced."""
    cured = {
        **during.controller,
        "state": _line(during.subject, "IDLE+CLOUD+DRAIN", f"{MOVED} [root@2026-11-27T21:58:00]"),
        "jobs": "2026-11-27T21:56:00|2026-11-27T21:56:30|90|COMPLETED|0:0|alice\n",
        "slurmctld": f"{during.controller.get('slurmctld', '').rstrip()}\n"
        f"[2026-11-27T21:55:00.000] update_node: node {during.subject} state set to IDLE\n"
        f"[2026-11-27T21:58:00.000] update_node: node {during.subject} reason set to: {MOVED}\n",
    }
    well = {**during.node, "own": "\n".join(OWN.values()) + "\n"}
    yield replace(
        during,
        moment="cured, then drained by a person",
        controller=cured,
        node=well,
        says=(f"root took the node out of service: {MOVED}",),
        fix=("node resume",) if not during.began else (),
        never=(),
        sagemaker=("Running", ""),
    )
    yield replace(
        during,
        moment="replaced",
        controller={**cured, "state": _line(during.subject, "IDLE+CLOUD", "")},
        node={"zone": "+0000\n", "own": well["own"]},
        says=("is healthy",),
        fix=(),
        never=(),
        began="",
        sagemaker=("Running", ""),
        launched=NOW - timedelta(minutes=4),
    )


def _forgotten(during: State, entry: Mapping[str, Any]) -> Iterator[State]:
    """Yield a job that slurmctld has forgotten, and one whose node has another instance, too."""
    if (
        "JobState=PENDING" in during.controller["state"]
        or "JobState=RUNNING" in during.controller["state"]
    ):
        return
    says = tuple(entry.get("later", entry["says"]))
    fix = tuple(entry.get("later_next", entry["next"]))
    records = {**during.controller, "state": MISSING}
    yield replace(during, moment="forgotten", controller=records, says=says, fix=fix)
    without = tuple(entry.get("without_node", says))
    yield replace(
        during,
        moment="node replaced",
        controller=records,
        node={"zone": "+0000\n"},
        says=without,
        fix=tuple(entry.get("without_node_next", fix)),
    )


def _controller(entry: Mapping[str, Any]) -> dict[str, str]:
    found = {
        "zone": "+0000\n",
        "config": "SlurmdSpoolDir = /var/spool/slurmd\nSlurmdTimeout = 300 sec\n",
        "shapes": SHAPES,
        "partitions": PARTITIONS,
        "qos": QOS,
    }
    if "state" in entry:
        name, gres = entry.get("subject", WORKER), entry.get("gres", "(null)")
        found["state"] = _line(name, entry["state"], entry.get("reason", ""), gres)
    if "job" in entry:
        found["state"] = _job_line(entry["job"])
    return {**found, **entry.get("controller", {})}


def _node(entry: Mapping[str, Any]) -> dict[str, str]:
    own = {**OWN, **entry.get("own", {})}
    found = {"zone": "+0000\n", "own": "\n".join(own.values()) + "\n"}
    given = dict(entry.get("node", {}))
    if "own" in given:  # the clock of the record is that of another day
        lines = [line for line in given["own"].splitlines() if not line.startswith("clock")]
        given["own"] = "\n".join([*lines, OWN["clock"]])
    return {**found, **given}


def _line(name: str, state: str, reason: str, gres: str = "(null)") -> str:
    said = f"Reason={reason}" if reason else ""
    return (
        f"NodeName={name} Arch=x86_64 CoresPerSocket=2 CPUAlloc=0 CPUTot=4 Gres={gres} "
        f"NodeAddr=10.0.128.7 RealMemory=16384 State={state} ThreadsPerCore=2 Partitions=dev,cpu "
        f"BootTime=2026-11-27T21:12:00 SlurmdStartTime=2026-11-27T19:12:07 "
        f"CfgTRES=cpu=4,mem=16G,billing=4 AllocTRES= {said}\n"
    )


def _job_line(fields: Mapping[str, str]) -> str:
    usual = {
        "JobId": "7",
        "JobName": "train",
        "UserId": "alice(1001)",
        "Account": "vision",
        "QOS": "normal",
        "JobState": "PENDING",
        "Reason": "None",
        "Dependency": "(null)",
        "BatchFlag": "1",
        "ExitCode": "0:0",
        "TimeLimit": "1-00:00:00",
        "Partition": "dev",
        "NodeList": "",
        "ReqTRES": "cpu=1,mem=8G,node=1,billing=1",
        "StdOut": "/fsx/alice/slurm-7.out",
    }
    return " ".join(f"{key}={value}" for key, value in {**usual, **fields}.items()) + "\n"
