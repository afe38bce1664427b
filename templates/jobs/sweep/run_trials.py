"""Run this task's trials of the sweep, or show the results of all.

`points.json` has the values of every trial. Each result is in `results/`, in a file that is named
after these values: so a result of other values is never mistaken for one of these.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

from shards import tell_left, work_on_share
from trial import trial

POINTS = Path("points.json")
RESULTS = Path("results")
Point = dict[str, Any]


def main(options: argparse.Namespace) -> int:
    """Run the requested action; return the exit status."""
    points: list[Point] = json.loads(POINTS.read_text())
    entries = list(map(_entry, points))
    if options.after:
        show(points, options.goal)
        return tell_left(entries, options.tasks, options.script)
    RESULTS.mkdir(exist_ok=True)
    return work_on_share(entries, options.tasks, _try)


def show(points: list[Point], goal: str) -> None:
    """Print a table with the best trial first, and write it as JSON."""
    rows = sorted(_rows(points), key=lambda row: row["score"], reverse=goal == "maximize")
    names = list(points[0])
    print("  ".join(f"{name:>14}" for name in ("trial", *names, "score")))
    for row in rows:
        cells = (str(row["trial"]), *(str(row["values"][name]) for name in names))
        print("  ".join(f"{cell:>14}" for cell in (*cells, f"{row['score']:.6g}")))
    Path("sweep.json").write_text(json.dumps({"best": rows[:1], "trials": rows}, indent=2) + "\n")
    if rows:
        print(f"best: trial {rows[0]['trial']} with {json.dumps(rows[0]['values'])}")


def _rows(points: list[Point]) -> list[Point]:
    found = []
    for number, values in enumerate(points):
        file = _result(_entry(values))
        if file.exists():
            score = json.loads(file.read_text())["score"]
            found.append({"trial": number, "values": values, "score": score})
    return found


def _entry(values: Point) -> str:
    """Return the values of a trial as one line, independent of their order."""
    return json.dumps(values, sort_keys=True)


def _result(entry: str) -> Path:
    return RESULTS / f"{hashlib.sha256(entry.encode()).hexdigest()[:16]}.json"


def _try(entry: str) -> None:
    """Run one trial; its result is written atomically."""
    values = json.loads(entry)
    score = float(trial(values))
    if not math.isfinite(score):
        raise ArithmeticError(f"the trial has the score {score}")
    file = _result(entry)
    partial = file.with_name(f".{file.stem}.partial")
    partial.write_text(json.dumps({"values": values, "score": score}))
    partial.rename(file)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--goal", choices=("minimize", "maximize"), required=True)
    parser.add_argument("--tasks", type=int, required=True, help="tasks of the whole array")
    parser.add_argument("--after", action="store_true", help="show the results")
    parser.add_argument("--script", default="", help="the script for sbatch to run tasks again")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_options()))
