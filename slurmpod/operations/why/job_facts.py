"""Slurm's facts about one job, from scontrol, its records and its logs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from slurmpod.operations.why.node_lines import (
    CONTROLLER_LOG,
    NODE_LOG,
    PARTITIONS,
    QOS,
    RECORD_FIELDS,
    RECORDS,
    SHAPES,
    STATE,
    moment_of,
    zone_of,
)
from slurmpod.operations.why.story import Moment
from slurmpod.slurm.fields import value_of
from slurmpod.slurm.records import rows

NOT_STARTED = ("", "None", "Unknown")

FEWEST_FIELDS = RECORD_FIELDS.index("reason")
"""The end of a job; answers kept from earlier versions have no more."""

AROUND = timedelta(seconds=60)

_ALLOCATED = re.compile(r"(?:Allocate \S+ NodeList=|_start_job: Started .* on )(\S+)")


@dataclass(frozen=True)
class Step:
    """A step of a job: `batch`, `extern`, or its number; how it ended."""

    name: str
    state: str
    exit_code: str


@dataclass(frozen=True)
class Shape:
    """Nodes of a partition with the same hardware."""

    partition: str
    count: int
    cpus: int
    memory_mib: int
    gres: str
    state: str


@dataclass(frozen=True)
class JobNow:
    """A job; `state` is a word of Slurm, `exit_code` is `CODE:SIGNAL` as sacct has it.

    `nodes` are those it has or had last, as a hostlist, `asked_nodes` those that it waits
    for; `facts` fill in texts about it.
    """

    id: str
    state: str
    cancelled_by: str
    reason: str
    comment: str
    exit_code: str
    has_begun: bool
    nodes: str
    out: str
    asked_nodes: str
    dependency: str
    time_limit: str
    asks_for: str
    partition: str
    is_batch: bool
    is_asked_steps: bool
    steps: tuple[Step, ...]
    shapes: tuple[Shape, ...]
    log: tuple[str, ...]
    node_log: tuple[str, ...]
    facts: Mapping[str, str]

    @property
    def is_known(self) -> bool:
        """Whether Slurm knows it at all."""
        return bool(self.state)

    @property
    def shown(self) -> str:
        """Return its state for people, with its exit code if it failed, or why it waits."""
        if self.state == "PENDING":
            return f"PENDING ({self.reason or 'no reason is given'})"
        if self.cancelled_by:
            return f"CANCELLED by {self.cancelled_by}"
        return f"FAILED exit {self.exit_code}" if self.state == "FAILED" else self.state


def job_of(id_: str, slurm: Mapping[str, str], node: Mapping[str, str]) -> JobNow:
    """Read the answers of a controller and the first node of a job; either may be empty."""
    line = slurm.get(STATE, "")
    rows = rows_of(slurm)
    record = next((row for row in reversed(rows) if "." not in row["jobid"]), {})
    state, _, by = record.get("state", "").partition(" by ")
    state = value_of(line, "JobState") or state
    log = tuple(slurm.get(CONTROLLER_LOG, "").splitlines())
    nodes = value_of(line, "NodeList") or _nodes(record, log)
    partition = value_of(line, "Partition") or record.get("partition", "")
    time_limit = value_of(line, "TimeLimit") or record.get("timelimit", "")
    own = [row for row in rows if _is_last_run(row, record)]
    facts = {
        "time": time_limit,
        "partition": partition,
        "account": value_of(line, "Account") or record.get("account", ""),
        "qos": value_of(line, "QOS") or record.get("qos", ""),
        "user": value_of(line, "UserId").partition("(")[0] or record.get("user", ""),
        "dependency": value_of(line, "Dependency"),
        "start": value_of(line, "StartTime"),
        "partition_time": _partition_time(slurm, partition),
        "node": nodes or "its node",
        "missing": value_of(line, "Reason").partition("UnavailableNodes:")[2],
    }
    return JobNow(
        id=id_,
        state=state,
        cancelled_by=by,
        reason=value_of(line, "Reason"),
        comment=value_of(line, "Comment"),
        exit_code=record.get("exitcode", "") or value_of(line, "ExitCode"),
        has_begun=bool(nodes),
        nodes=nodes,
        out=value_of(line, "StdOut") or "the file that --output names",
        asked_nodes=facts["missing"] or value_of(line, "ReqNodeList"),
        dependency=facts["dependency"],
        time_limit=time_limit,
        asks_for=value_of(line, "ReqTRES") or record.get("reqtres", ""),
        partition=partition,
        is_batch=value_of(line, "BatchFlag") != "0",
        is_asked_steps=bool(record),
        steps=tuple(_steps(own)),
        shapes=tuple(_shapes(slurm.get(SHAPES, ""), partition)),
        log=log,
        node_log=tuple(node.get(NODE_LOG, "").splitlines()),
        facts={**facts, "qos_time": _qos_time(slurm, facts["qos"]) or "less"},
    )


def rows_of(slurm: Mapping[str, str]) -> list[Mapping[str, str]]:
    """Return the records of a job and its steps; skip other lines."""
    found = rows(slurm.get(RECORDS, ""), RECORD_FIELDS, FEWEST_FIELDS)
    return [row for row in found if row["jobid"][:1].isdecimal()]


def _is_last_run(row: Mapping[str, str], record: Mapping[str, str]) -> bool:
    """Return whether a step belongs to the last run of a requeued job."""
    began = record.get("start", "")
    return "." in row["jobid"] and (began in NOT_STARTED or row["start"] >= began)


def _nodes(record: Mapping[str, str], log: Sequence[str]) -> str:
    listed = record.get("nodelist", "")
    if listed and "None" not in listed:
        return listed
    found = [match[1] for line in log if (match := _ALLOCATED.search(line))]
    return found[-1] if found else ""


def _steps(rows: Sequence[Mapping[str, str]]) -> Iterator[Step]:
    for row in rows:
        yield Step(row["jobid"].partition(".")[2], row["state"].split(" ")[0], row["exitcode"])


def _shapes(answer: str, partition: str) -> Iterator[Shape]:
    for line in answer.splitlines():
        fields = line.split("|")
        if len(fields) == 6 and fields[0].rstrip("*") == partition:
            name, count, cpus, memory, gres, state = fields
            how_many, cores, mebibytes = (_number(each) for each in (count, cpus, memory))
            yield Shape(name.rstrip("*"), how_many, cores, mebibytes, gres, state)


def _number(text: str) -> int:
    return int(re.sub(r"\D", "", text) or 0)


def _partition_time(slurm: Mapping[str, str], partition: str) -> str:
    for line in slurm.get(PARTITIONS, "").splitlines():
        if value_of(line, "PartitionName") == partition:
            return value_of(line, "MaxTime")
    return "less"


def _qos_time(slurm: Mapping[str, str], qos: str) -> str:
    for line in slurm.get(QOS, "").splitlines():
        name, _, rest = line.partition("|")
        if name == qos:
            return rest.partition("|")[0]
    return ""


def span_of(slurm: Mapping[str, str]) -> tuple[datetime | None, datetime | None]:
    """Return when the last run of a job began and ended, as far as it is known."""
    zone = zone_of(slurm)
    rows = [row for row in rows_of(slurm) if "." not in row["jobid"]]
    last = rows[-1] if rows else {}
    return moment_of(last.get("start", ""), zone), moment_of(last.get("end", ""), zone)


def is_within(moment: Moment, span: tuple[datetime | None, datetime | None]) -> bool:
    """Return whether a time is within a job's run, or a minute before or after."""
    begin, end = span
    if begin and moment.time < begin - AROUND:
        return False
    return not end or moment.time <= end + AROUND


def moments_of_job(slurm: Mapping[str, str]) -> Iterator[Moment]:
    """Return the times when a job and its steps began and ended."""
    zone = zone_of(slurm)
    for row in rows_of(slurm):
        is_whole = "." not in row["jobid"]
        if is_whole and (time := moment_of(row["submit"], zone)):
            yield Moment(time, "records", f"{row['user']} submitted it")
        if is_whole and (time := moment_of(row["start"], zone)):
            yield Moment(time, "records", f"it began on {row['nodelist']}")
        if time := moment_of(row["end"], zone):
            what = "it" if is_whole else f"step {row['jobid'].partition('.')[2]}"
            ended = f"{what} ended: {row['state']}, exit code {row['exitcode']}"
            yield Moment(time, "records", ended)
