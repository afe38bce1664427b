"""Results of the accelerator tools on a node: DCGM for GPUs, nccom-test for Neuron.

`dcgmi diag --json` prints `DCGM GPU Diagnostic` and a status for each GPU of a test in DCGM 3, and
`DCGM Diagnostic` with an additional summary of each test in DCGM 4. A failed test is the node's
fault. A test that warns or is skipped on all GPUs, or a tool that does not run, is only reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed, ProbeMissing, probe

NAME = "accelerators"
DCGM = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
DCGM_SECONDS = {1: 240.0, 2: 1100.0, 3: 3500.0}
NEURON = "/opt/aws/neuron/bin"
NEURON_SECONDS = 300.0
NEURON_NUMBER = "neuron all-reduce GB/s"
LONGEST = 120
"""The maximum length of a tool's message in characters: a reason in Slurm is one line."""

SOFTWARE = frozenset(
    {
        "Denylist",
        "NVML Library",
        "CUDA Main Library",
        "Permissions and OS-related Blocks",
        "Permissions and OS Blocks",
        "Persistence Mode",
        "Environmental Variables",
        "Environment Variables",
        "Graphics Processes",
    }
)
"""Tests of what an image or a user has set up, not of the node's GPUs."""

BUS = re.compile(r"Avg bus bandwidth:\s*([0-9.]+)\s*GB/s")


def gpu_findings(level: int) -> list[Finding]:
    """Run DCGM's tests of a level on all GPUs; dcgmi exits with an error if one of them fails."""
    command = ("dcgmi", "diag", "--run", str(level), "--json")
    try:
        said = probe(*command, seconds=DCGM_SECONDS[level])
    except ProbeMissing:
        return [Finding(NAME, Verdict.REPORTED, "there is no dcgmi: GPUs were not tested")]
    except ProbeFailed as error:
        if DCGM[0] not in error.said and DCGM[1] not in error.said:
            return [Finding(NAME, Verdict.REPORTED, f"dcgmi: {str(error)[:LONGEST]}")]
        said = error.said
    return read_dcgm(said, level)


def read_dcgm(said: str, level: int) -> list[Finding]:
    """Return the tests' findings, or one finding that the output cannot be read."""
    try:
        tests = list(_tests(json.loads(said[said.index("{") : said.rindex("}") + 1])))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        detail = f"dcgmi says what cannot be read: {error!r}"
        return [Finding(NAME, Verdict.REPORTED, detail[:LONGEST])]
    findings = [each for test in tests if (each := _judged(test))]
    if findings or not tests:
        return findings or [Finding(NAME, Verdict.REPORTED, "dcgmi has made no test")]
    return [Finding(NAME, Verdict.GOOD, f"{len(tests)} tests of DCGM's level {level} passed")]


def _tests(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    root = data[DCGM[0]] if DCGM[0] in data else data[DCGM[1]]
    for category in root["test_categories"]:
        yield from (test for test in category["tests"] if test)


def _judged(test: dict[str, Any]) -> Finding | None:
    """Return the fault that a test found: that of the first GPU that fails, else that warns."""
    results = list(test.get("results") or [])
    if summary := test.get("test_summary"):
        results.append(summary)
    is_of_gpus = test["name"] not in SOFTWARE
    for status, verdict in (("fail", Verdict.BAD), ("warn", Verdict.REPORTED)):
        for result in results:
            if str(result["status"]).lower() == status:
                detail = f"DCGM {test['name']}: {status}{_where(result)}{_why(result)}"
                return Finding(NAME, verdict if is_of_gpus else Verdict.REPORTED, detail[:LONGEST])
    return None


def _where(result: dict[str, Any]) -> str:
    where = result.get("entity_id", result.get("gpu_id", result.get("gpu_ids")))
    return "" if where is None else f" on GPU {where}"


def _why(result: dict[str, Any]) -> str:
    warnings = result.get("warnings") or []
    first = warnings[0] if isinstance(warnings, list) and warnings else warnings
    text = first.get("warning", "") if isinstance(first, dict) else str(first or "")
    return f": {text}" if text else ""


def neuron_numbers() -> dict[str, float]:
    """Return the GB/s of an all-reduce across all cores of this node; raises ProbeFailed."""
    devices = json.loads(probe(f"{NEURON}/neuron-ls", "--json-output", seconds=60))
    cores = sum(int(device["nc_count"]) for device in devices)
    said = probe(f"{NEURON}/nccom-test", "-r", str(cores), "allr", seconds=NEURON_SECONDS)
    found = BUS.search(said)
    if not found:
        raise ProbeFailed(f"nccom-test says '{said.strip()[-LONGEST:]}'")
    return {NEURON_NUMBER: float(found[1])}
