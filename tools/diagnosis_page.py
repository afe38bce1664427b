"""The broken states that `slurmpod why` is tested with, as a page: docs/diagnosis.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.pure.diagnosis.diagnosis import State, states

INTRODUCTION = """\
# Broken states

The output of [`slurmpod why`](running.md#explain-a-node-or-job) for {count} broken states:
the cause while the state lasts, and the next step. For most states `why` is run again later,
{moments} times in all: for nodes after they are repaired and drained by a person, and after their
instance is replaced; for jobs after Slurm has forgotten them, and after their node is replaced.

A test checks each answer. {recorded} are answers of nodes that were
broken in a rehearsal. {composed} are composed in the same format, following Slurm's source: `why`
was never run for them on a node. Other tests break booted nodes and run `why` for them:
`tests/nodes/test_rehearse.py`, `test_life.py` and `test_capacity.py`.
`make bench PARTS=diagnosis` measures [how many causes are right](benchmarks.md#what-why-names).

`make golden` generates this page from the states.
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
