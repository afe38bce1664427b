"""What only `make test-all` runs: a proof that `make test` has, for further cases.

`make test` is the command of everybody who changes something, so it holds every kind of proof at
least once and takes minutes. Nothing lands without `make test-all`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MARK = "further"
"""The mark of these tests: `make test` runs `pytest -m "not further"`."""


@dataclass(frozen=True)
class Further:
    """Tests by how their node ids below `tests/` begin, and what `make test` has in their place."""

    tests: str
    proof: str
    """The file, class or test in `make test` that proves the same for other cases."""
    what: str
    """The further cases, as docs/testing.md tells them."""


FURTHER: Sequence[Further] = ()


def is_further(node_id: str) -> bool:
    """Return whether a test, by its node id below `tests/`, is left to `make test-all`."""
    return any(node_id.startswith(each.tests) for each in FURTHER)


def table() -> str:
    """Return the rows of docs/testing.md."""
    rows = [f"| `{each.tests}` | {each.what} | `{each.proof}` |" for each in FURTHER]
    head = [
        "| only in `make test-all` | further cases | the proof in `make test` |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *rows])
