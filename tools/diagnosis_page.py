"""The broken states of which `slurmpod why` was asked, as a page: docs/diagnosis.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.pure.diagnosis.diagnosis import State, states

INTRODUCTION = """\
# Broken states

What [`slurmpod why`](running.md#why-a-node-or-job-is-as-it-is) says of {count} broken states: the
cause that it names while the state lasts, and the next step. Most are asked again later, in all at
{moments} moments: nodes once they are cured and a person has drained them, and once they have
another instance; jobs once Slurm has forgotten them, and once their node is another one.

A test holds each answer. {recorded} are answers of nodes that were
broken in a rehearsal. {composed} are composed: put together in the same form, by Slurm's source, so
that nobody has seen `why` name them on a node. Other tests break booted nodes and ask `why` of
them: `tests/nodes/test_rehearse.py`, `test_life.py` and `test_capacity.py`.
[How many it names rightly](benchmarks.md#what-why-names) is measured by
`make bench PARTS=diagnosis`.

This page is made from the states themselves (`make golden`).
"""
HEAD = "| state | cause | next step | answers |\n|---|---|---|---|"


def diagnosis_page() -> str:
    """Return the page of all states."""
    everything = tuple(states())
    first = [each for each in everything if each.moment == "during"]
    kinds = Counter(each.proved for each in first)
    composed = kinds.pop("composed")
    introduction = INTRODUCTION.format(
        count=len(first),
        moments=len(everything),
        recorded=" and ".join(f"{number} ({kind})" for kind, number in kinds.items()),
        composed=composed,
    )
    of_nodes = [each for each in first if each.subject.startswith("ip-")]
    of_jobs = [each for each in first if each not in of_nodes]
    return "\n".join((introduction, _section("Nodes", of_nodes), _section("Jobs", of_jobs)))


def _section(title: str, of_these: Sequence[State]) -> str:
    rows = "\n".join(map(_row, of_these))
    return f"## {title}\n\n{HEAD}\n{rows}\n"


def _row(state: State) -> str:
    cause = state.story().cause
    cells = (state.name.replace("-", " "), _cell(cause.says), _cell(cause.fix), state.proved)
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return escaped.replace("*", "\\*").replace("_", "\\_").replace("\n", " ")
