"""`python -m benchmarks [PART ...]`: measure, and print one table with targets."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, product
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.bring_up import bring_up_rows
from benchmarks.diagnosis import diagnosis_rows
from benchmarks.growth import growth_rows
from benchmarks.lint import lint_rows
from benchmarks.measure import Command, Row, medians
from benchmarks.recipes import recipe_rows
from benchmarks.recovery import recovery_rows
from slurmpod.folders import node_executable
from slurmpod.platform_profiles.slurm_versions import SlurmVersion
from slurmpod.rehearsal.nodes.image import bake
from tests.nodes.hyperpod_lab import HyperPodLab

PROJECT = Path(__file__).parents[1]
DEV = "environments/dev.yaml"
P5 = "environments/p5-prod.yaml"
PLAN = "--model llama2-7b --sequence 4096 --global-batch 1024"
BIN = Path(sys.executable).parent
CDK = str(PROJECT / "node_modules/.bin/cdk")
SLURMPOD = str(BIN / "slurmpod")
START_RUNS, SYNTH_RUNS, REHEARSAL_RUNS = 25, 5, 3
FEW = "5"
"""Nodes of a small cluster."""

INSTANCES_FOR_64_WORKERS = "fs.inotify.max_user_instances=8192"


def main(parts: Sequence[str]) -> None:
    """Run the benchmarks (default: all), report each one's completion, and print the table.

    Exit with 1 if a target is missed that must hold on any machine.
    """
    if unknown := set(parts) - PARTS.keys():
        raise SystemExit(f"no part {', '.join(sorted(unknown))}; parts: {', '.join(PARTS)}")
    table = Table("what", "median", "floor", "ratio", "memory", "target", box=box.SIMPLE_HEAD)
    said = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
    missed = False
    for row in chain.from_iterable(PARTS[part]() for part in parts or PARTS):
        missed |= row.is_missed
        ratio = f"{row.ratio:.2f}" if row.ratio else ""
        said.print(f"measured: {row.what}: {row.seconds:.3f} s {ratio}")
        floor = f"{row.floor} {row.floor_seconds:.3f} s" if row.floor_seconds else ""
        memory = f"{row.mebibytes:.0f} MiB" if row.mebibytes else ""
        table.add_row(row.what, f"{row.seconds:.3f} s", floor, ratio, memory, row.target)
    Console(width=140).print(table)
    if missed:
        raise SystemExit(1)


def start_rows() -> Iterable[Row]:
    """Measure cold starts against the imports alone and against a program with one model.

    The imports alone load no models: these are loaded when a program first uses one.
    """
    floors = {
        "imports": _command(str(BIN / "python"), "-c", "import pydantic, yaml"),
        "one model": _command(str(BIN / "python"), "benchmarks/one_model.py"),
    }
    commands = {
        "slurmpod validate dev.yaml": _command(SLURMPOD, "validate", DEV),
        "slurmpod job plan of Llama 2 with 7 billion parameters": _command(
            SLURMPOD, "job", "plan", P5, *PLAN.split()
        ),
    }
    times = medians({**floors, **commands}, runs=START_RUNS)
    for what, (floor, target) in product(
        commands, {"imports": "ratio <= 2.0", "one model": "ratio <= 1.5"}.items()
    ):
        cost = times[what]
        yield Row(what, cost.seconds, floor, times[floor].seconds, target, cost.mebibytes)


def synth_rows() -> Iterable[Row]:
    """Measure `cdk synth` with and without the nag pack against an empty app.

    Nothing is cached, except in the run that measures a second synthesis of the same files.
    """
    python = str(BIN / "python")
    with tempfile.TemporaryDirectory() as folder:

        def synth(name: str, *arguments: str, home: str = os.devnull) -> Command:
            command = (CDK, "synth", "--quiet", "--output", f"{folder}/{name}", *arguments)
            return _command(*command, SLURMPOD_HOME=home)

        times = medians(
            {
                "floor": synth("empty", "--app", f"{python} benchmarks/empty_app.py"),
                "without nag": synth("plain", "--app", f"{python} -m benchmarks.without_nag {DEV}"),
                "with nag": synth("nag", "--context", "env=dev"),
                "again": synth("again", "--context", "env=dev", home=f"{folder}/home"),
            },
            runs=SYNTH_RUNS,
        )
    floor = times["floor"].seconds
    targets = {"without nag": "ratio <= 1.6", "with nag": "ratio <= 1.5", "again": "ratio <= 0.6"}
    for name, target in targets.items():
        yield Row(f"cdk synth dev, {name}", times[name].seconds, "empty app", floor, target)


def status_rows() -> Iterable[Row]:
    """Measure `slurmpod status` and `slurmpod why` of large clusters against few nodes."""
    yield _beside_few("status", "5000")
    yield _beside_few("why", "1000")


def _beside_few(command: str, count: str) -> Row:
    module = f"benchmarks.{command}_of_nodes"
    python = str(BIN / "python")
    commands = {each: _command(python, "-m", module, each) for each in (FEW, count)}
    times = medians(commands, runs=SYNTH_RUNS)
    what = f"slurmpod {command} of {int(count):,} nodes, without AWS's time"
    few, many = times[FEW].seconds, times[count]
    return Row(what, many.seconds, f"of {FEW} nodes", few, "ratio <= 2.0", many.mebibytes)


def rehearsal_rows() -> Iterable[Row]:
    """Measure whole rehearsals of dev.yaml, and the share of each stage."""
    runs = [_rehearse() for _ in range(REHEARSAL_RUNS)]
    stages = {
        stage: statistics.median(run["seconds"][stage] for run in runs)
        for stage in runs[0]["seconds"]
    }
    total = statistics.median(sum(run["seconds"].values()) for run in runs)
    nodes = statistics.median(run["boot_seconds"] for run in runs)
    for stage, seconds in stages.items():
        yield Row(f"rehearse dev: {stage}", seconds, "whole rehearsal", total)
    yield Row("rehearse dev: cluster resource to all nodes idle", nodes, target="<= 10 s")
    yield Row("rehearse dev: everything", total, target="<= 45 s on two cores")


def cluster_rows() -> Iterable[Row]:
    """Measure clusters of real nodes against Slurm alone; large ones need many inotify watches."""
    subprocess.run(["sysctl", "--quiet", "--write", INSTANCES_FOR_64_WORKERS], check=True)
    with _lab() as lab:
        yield from bring_up_rows(lab)


def power_cut_rows() -> Iterable[Row]:
    """Measure how long training stops after a power cut, and each part of that time."""
    with _lab() as lab:
        yield from recovery_rows(lab)


@contextmanager
def _lab() -> Iterator[HyperPodLab]:
    """Start nodes of the image on which steps resume in place."""
    with (
        tempfile.TemporaryDirectory() as folder,
        HyperPodLab(
            Path(folder),
            bake(print, slurm=SlurmVersion.V24_11),
            ("ami-2026-01", "returns-by-itself"),
        ) as lab,
    ):
        yield lab


def _rehearse() -> dict[str, Any]:
    printed = subprocess.run(
        [SLURMPOD, "rehearse", DEV, "--json"],
        cwd=PROJECT,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    document: dict[str, Any] = json.loads(printed)
    return document


def _command(*arguments: str, **more: str) -> Command:
    search_path = f"{BIN}:{os.environ['PATH']}"
    node = str(node_executable())
    variables = {**os.environ, "PATH": search_path, "JSII_NODE": node, **more}
    return Command(arguments, PROJECT, variables)


PARTS: Mapping[str, Callable[[], Iterable[Row]]] = {
    "start": start_rows,
    "synth": synth_rows,
    "growth": lambda: growth_rows(PROJECT / DEV, SLURMPOD, _command),
    "status": status_rows,
    "rehearsal": rehearsal_rows,
    "recipes": recipe_rows,
    "clusters": cluster_rows,
    "recovery": power_cut_rows,
    "diagnosis": diagnosis_rows,
    "lint": lint_rows,
}

if __name__ == "__main__":
    main(sys.argv[1:])
