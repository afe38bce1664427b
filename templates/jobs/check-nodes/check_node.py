"""Check the node that this runs on, and write the findings into a folder that all nodes share.

Python 3.10 and its standard library are enough. Exits with status 0 once the result is written,
whatever it is: compare_nodes.py judges all of them.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path

from slurmpod_health.checks import run_checks
from slurmpod_health.expectations import Expectations
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.hardware import EFA
from slurmpod_health.probe import ProbeFailed, probe

CONTAINER_OPTION = "--container-image"
SECONDS = 10.0


def main(options: argparse.Namespace) -> None:
    """Write the findings atomically: a partial file never exists."""
    node = os.environ["SLURMD_NODENAME"]
    expected = replace(Expectations.load(Path("expectations.json")), node=node)
    findings = [judged(each, expected) for each in run_checks(expected)]
    findings += [check_containers()] if options.containers else []
    options.results.mkdir(exist_ok=True)
    partial = options.results / f".{node}.partial"
    partial.write_text(json.dumps({each.check: _as_data(each) for each in findings}))
    partial.rename(options.results / f"{node}.json")


def judged(finding: Finding, expected: Expectations) -> Finding:
    """Return a finding that is bad if nodes with accelerators have no EFA at all.

    Around jobs that is only reported, or a whole group would drain itself; here it must be visible.
    """
    lacks_efa = finding.check == EFA and finding.verdict is Verdict.REPORTED
    return replace(finding, verdict=Verdict.BAD) if lacks_efa and expected.accelerators else finding


def check_containers() -> Finding:
    """Check whether srun starts containers: if pyxis is not loaded, it lacks the option."""
    try:
        has_option = CONTAINER_OPTION in probe("srun", "--help", seconds=SECONDS)
    except ProbeFailed as error:
        return Finding("containers", Verdict.BAD, f"srun --help: {error}")
    if has_option:
        return Finding("containers", Verdict.GOOD, f"srun has {CONTAINER_OPTION}")
    return Finding("containers", Verdict.BAD, f"srun has no {CONTAINER_OPTION}: load pyxis")


def _as_data(finding: Finding) -> dict[str, str]:
    return {"verdict": finding.verdict.value, "detail": finding.detail}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--results", type=Path, required=True, help="folder on shared storage")
    parser.add_argument("--containers", action="store_true", help="srun must start containers")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
