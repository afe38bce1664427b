"""Make this task's trials of the sweep, or show the results of all.

`points.json` has the values of every trial. Each result stands in `results/NUMBER.json`.
"""

from __future__ import annotations

import argparse
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
    """Do what the options say; return the exit status."""
    points: list[Point] = json.loads(POINTS.read_text())
    numbers = [str(number) for number in range(len(points))]
    if options.after:
        show(points, options.goal)
        return tell_left(numbers, options.tasks, options.script)
    RESULTS.mkdir(exist_ok=True)
    return work_on_share(numbers, options.tasks, lambda number: _try(number, points))


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
        file = RESULTS / f"{number}.json"
        if file.exists():
            found.append({"trial": number, "values": values, **json.loads(file.read_text())})
    return found


def _try(number: str, points: list[Point]) -> None:
    """Make one trial; its result is written all at once."""
    score = float(trial(points[int(number)]))
    if not math.isfinite(score):
        raise ArithmeticError(f"trial {number} has the score {score}")
    partial = RESULTS / f".{number}.partial"
    partial.write_text(json.dumps({"score": score}))
    partial.rename(RESULTS / f"{number}.json")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--goal", choices=("minimize", "maximize"), required=True)
    parser.add_argument("--tasks", type=int, required=True, help="tasks of the whole array")
    parser.add_argument("--after", action="store_true", help="show the results")
    parser.add_argument("--script", default="", help="what sbatch is given to run tasks again")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_options()))
