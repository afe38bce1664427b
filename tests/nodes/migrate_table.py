"""The table of what the moves of `slurmpod migrate` leave unchanged, proven by tests.

`docs/migrate.md` has the table between two marks; `make golden` writes it there.
"""

from __future__ import annotations

from collections.abc import Mapping

from tools.marked_part import with_part

BEGIN, END = "<!-- what stayed: made by tests -->", "<!-- end of what stayed -->"

MOVES: Mapping[str, str] = {
    "api-driven": "`customer` to `extended`",
    "continuous": "`standard` to `continuous`",
    "records": "MariaDB to a database outside",
}
STAYED: Mapping[str, Mapping[str, str]] = {
    "running jobs": {
        "before": "2",
        "api-driven": "2 continue",
        "continuous": "2 continue",
        "records": "2 continue",
    },
    "running steps": {
        "before": "4",
        "api-driven": "4 continue",
        "continuous": "4 continue",
        "records": "4 continue",
    },
    "jobs in the queue": {
        "before": "1",
        "api-driven": "1 there",
        "continuous": "1 there",
        "records": "1 there",
    },
    "records of ended jobs": {
        "before": "2",
        "api-driven": "2 there",
        "continuous": "2 there",
        "records": "2 there",
    },
    "accounts, users and their QOS": {
        "before": "5",
        "api-driven": "5 there",
        "continuous": "5 there",
        "records": "5 there",
    },
    "people on the controller": {
        "before": "3",
        "api-driven": "3 there",
        "continuous": "3 there",
        "records": "3 there",
    },
    "nodes by their names": {
        "before": "3",
        "api-driven": "3 there",
        "continuous": "3 there",
        "records": "3 there",
    },
}
"""The expected output of `slurmpod migrate --json` for the environment of the tests."""


def page_with_table(page: str) -> str:
    """Return the page with the current table between its marks."""
    heads = ["what", "before", *MOVES.values()]
    lines = [heads, ["---"] * len(heads)]
    lines += [[what, *(told[key] for key in ("before", *MOVES))] for what, told in STAYED.items()]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return with_part(page, BEGIN, END, f"\n{table}\n")
