"""Conversion of finished checks into results of their nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from slurmpod_checks.pair import PAIR
from slurmpod_checks.records import IN_RING, RING_OF, CheckJob, NodeRecord, Result, State, kind_of
from slurmpod_checks.slurm import GOES_ON, Job
from slurmpod_health.finding import Finding, Verdict

STOPPED = ("CANCELLED", "PREEMPTED", "")
"""Final states of checks that a user or Slurm stopped, or that Slurm no longer knows."""


@dataclass(frozen=True)
class Instance:
    """The instance that a node's name refers to now: its group and id."""

    group: str
    id: str


Instances = Mapping[str, Instance]


def harvested(state: State, jobs: Iterable[Job], instances: Instances, now: int) -> State:
    """Return the state with the results of all checks that have ended."""
    known = {job.id: job for job in jobs}
    nodes, left = dict(state.nodes), dict(state.jobs)
    for number, check in state.jobs.items():
        job = known.get(number)
        if job and job.state in GOES_ON:
            continue
        del left[number]
        for name in check.nodes:
            record = nodes.get(name, NodeRecord(""))
            partner = _partner(name, check.nodes)
            instance = instances.get(name, Instance("", ""))
            result = _result(job, partner, instance.id, now)
            if instance.group:
                record = replace(record, group=instance.group)
                nodes[name] = record.with_result(result) if result else _failed(record, check, now)
    return replace(state, nodes=nodes, jobs=left)


def _partner(name: str, nodes: Sequence[str]) -> str:
    """Return a node's partner in the check, or the size of the ring."""
    if kind_of(nodes) == IN_RING:
        return f"{RING_OF}{len(nodes)}"
    return next((other for other in nodes if other != name), "")


def _failed(record: NodeRecord, check: CheckJob, now: int) -> NodeRecord:
    """Record a check without a result; a request made since it started applies to the next one."""
    return record if record.wanted_at >= check.began else replace(record, failed_at=now)


def _result(job: Job | None, partner: str, instance: str, now: int) -> Result | None:
    """Return a check's result, or None if it was stopped before it had one.

    Two nodes that cannot exchange data at all have a rate of 0.
    """
    found = job.result() if job else None
    numbers = {name: float(value) for name, value in found["numbers"].items()} if found else {}
    if found and partner and not partner.startswith(RING_OF):
        numbers.setdefault(PAIR, 0.0)
    findings = tuple(_findings(found)) if found else ()
    if not found:
        if partner or not job or job.state in STOPPED:
            return None
        detail = f"the check ended as {job.state} without a result"
        findings = (Finding("check", Verdict.REPORTED, detail),)
    kind = found["type"] if found else ""
    return Result(now, instance, kind, partner, findings, numbers, is_told=False)


def _findings(found: dict[str, Any]) -> Iterator[Finding]:
    for check, verdict, detail in found["findings"]:
        yield Finding(check, Verdict(verdict), detail)
