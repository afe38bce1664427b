"""Growth of time and memory with the groups of an environment and the environments of a folder.

At most linear: N times as much may take N times as long, start-up included.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import yaml

from benchmarks.measure import Command, Cost, Row, medians

WORKER_GROUPS = (1, 10, 98)
"""Numbers of worker groups; with controller and login group, the last is a cluster's maximum."""

ENVIRONMENTS = 50
RUNS = 9
SECONDS_FOR_ENVIRONMENTS = 2


def growth_rows(base: Path, slurmpod: str, command: Callable[..., Command]) -> Iterable[Row]:
    """Measure environments that are like `base` but larger, and a folder of many."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sized = {count: folder / f"groups-{count}.yaml" for count in WORKER_GROUPS}
        for count, file in sized.items():
            file.write_text(with_worker_groups(base, count))
        many = folder / "many"
        many.mkdir()
        for number in range(ENVIRONMENTS):
            text = base.read_text().replace("\nname: dev\n", f"\nname: dev-{number}\n")
            (many / f"{number}.yaml").write_text(text)
        yield from _validate_rows(sized, many, base, slurmpod, command)
        yield from _synth_rows(sized, command)


def with_worker_groups(base: Path, count: int) -> str:
    """Return an environment with `count` worker groups, each with its partition."""
    data = yaml.safe_load(base.read_text())
    groups = data["cluster"]["groups"]
    (worker,) = [group for group in groups if group["role"] == "worker"]
    groups.remove(worker)
    for number in range(1, count + 1):
        own = {"name": f"workers-{number}", "partition": f"partition-{number}"}
        groups.append({**worker, **own})
    return yaml.safe_dump(data, sort_keys=False)


def _validate_rows(
    sized: dict[int, Path], many: Path, base: Path, slurmpod: str, command: Callable[..., Command]
) -> Iterable[Row]:
    commands = {str(n): command(slurmpod, "validate", str(file)) for n, file in sized.items()}
    commands["one"] = command(slurmpod, "validate", str(base))
    commands["many"] = command(slurmpod, "validate", str(many))
    costs = medians(commands, runs=RUNS)
    yield from _rows("slurmpod validate", costs)
    yield Row(
        f"slurmpod validate folder, {ENVIRONMENTS} environments",
        costs["many"].seconds,
        "one",
        costs["one"].seconds,
        f"<= {SECONDS_FOR_ENVIRONMENTS} s",
        costs["many"].mebibytes,
    )


def _synth_rows(sized: dict[int, Path], command: Callable[..., Command]) -> Iterable[Row]:
    app = (sys.executable, "-m", "benchmarks.without_nag")
    commands = {str(n): command(*app, str(file)) for n, file in sized.items()}
    yield from _rows("synthesis in Python", medians(commands, runs=RUNS // 3))


def _rows(what: str, costs: dict[str, Cost]) -> Iterable[Row]:
    floor = costs[str(WORKER_GROUPS[0])].seconds
    for count in WORKER_GROUPS:
        cost = costs[str(count)]
        yield Row(
            f"{what}, {count} worker group{'s' if count > 1 else ''}",
            cost.seconds,
            "one group" if count > 1 else "",
            floor if count > 1 else None,
            f"ratio <= {count}" if count > 1 else "",
            cost.mebibytes,
        )
