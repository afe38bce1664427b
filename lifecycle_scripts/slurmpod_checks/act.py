"""Consequences of a fault: the node takes no more jobs and may be replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slurmpod_checks.choose import View
from slurmpod_checks.judge import slow_alone, slow_in_pairs
from slurmpod_checks.records import ALONE, IN_PAIR, NodeRecord, Result
from slurmpod_checks.slurm import Slurm
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.node_state import CHECK, NodeState
from slurmpod_health.probe import ProbeFailed
from slurmpod_health.scontrol import Scontrol, drain

LONGEST_REASON = 300
DAY = 24 * 3600
REPLACE = ("state=fail", "reason=Action:Replace")
"""HyperPod replaces a node in this state (developer guide, "Manually replace a node")."""


def judged(view: View) -> View:
    """Judge results that have not been acted on, drain the nodes at fault and record it.

    These nodes are removed from this round, which still sees them as idle: a pair with one of them
    would not start, and its partner would then be skipped for a while.
    """
    nodes, present = dict(view.state.nodes), dict(view.nodes)
    for name, record in view.state.nodes.items():
        for kind in (ALONE, IN_PAIR):
            result = record.latest(kind)
            if result and not result.is_told and (bad := _faults(view, name, result)):
                noted = _acted_upon(name, result, bad)
                record = _with(record, result, noted)  # noqa: PLW2901
                nodes[name] = record
                present.pop(name, None)
    return replace(view, state=replace(view.state, nodes=nodes), nodes=present)


def _faults(view: View, name: str, result: Result) -> list[Finding]:
    share, nodes = view.settings.least_share, view.state.nodes
    slow = slow_in_pairs if result.kind == IN_PAIR else slow_alone
    found = [*result.findings, *slow(name, nodes, share)]
    return [each for each in found if each.verdict is Verdict.BAD]


def _acted_upon(name: str, result: Result, bad: list[Finding]) -> Result:
    """Drain the node; if Slurm does not answer, the next round tries again."""
    why = "; ".join(each.detail for each in bad)[:LONGEST_REASON]
    new = tuple(each for each in bad if each not in result.findings)
    noted = replace(result, findings=(*result.findings, *new), is_told=True)
    try:
        if drain(Scontrol.starting_now(), name, f"{CHECK}{why}"):
            return noted
    except ProbeFailed:
        return result
    detail = "it goes on, as half of its partition has drained itself"
    more = Finding("check", Verdict.REPORTED, detail)
    return replace(noted, findings=(*noted.findings, more))


def _with(record: NodeRecord, old: Result, new: Result) -> NodeRecord:
    return replace(record, results=tuple(new if each is old else each for each in record.results))


def settle(view: View, slurm: Slurm) -> View:
    """Resume nodes that have been replaced since, and have others replaced; raises SlurmFailed."""
    for node in _drained(view):
        record, here = view.state.nodes[node.name], view.instances[node.name].id
        if all(each.instance != here for each in record.results if each.is_bad):
            slurm.update(node.name, "state=resume")
        elif _shall_go(view, node, record.faults(here)):
            slurm.update(node.name, *REPLACE)
            return replace(view, state=replace(view.state, replaced_at=view.now))
    return view


def _drained(view: View) -> Iterator[NodeState]:
    """Yield the nodes that these checks have drained and that are idle now."""
    for name, node in view.nodes.items():
        if (
            node.is_drained_by_check
            and "IDLE" in node.words
            and name in view.state.nodes
            and name in view.instances
        ):
            yield node


def _shall_go(view: View, node: NodeState, faults: int) -> bool:
    """Return whether to replace a node now: at most one a day, however many are at fault."""
    after, is_away = view.settings.replace_after, "NOT_RESPONDING" in node.words
    is_time = view.now - view.state.replaced_at >= DAY
    return after is not None and faults >= after and is_time and not is_away
