"""The check of one node, as a job: measures, tests, and leaves the result with Slurm.

It judges only what needs no other node; the controller compares the numbers.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from slurmpod_checks.accelerators import gpu_findings, neuron_numbers
from slurmpod_checks.collectives import all_reduce
from slurmpod_checks.latency import efa_exchange
from slurmpod_checks.pair import pair_numbers
from slurmpod_checks.settings import (
    ACCELERATORS,
    PAIRS,
    PROCESSOR,
    RINGS,
    SCRATCH,
    SHARED_STORAGE,
)
from slurmpod_checks.throughput import measured
from slurmpod_health.finding import Finding, Verdict

SCONTROL = "/opt/slurm/bin/scontrol"
PRODUCT_NAME = Path("/sys/devices/virtual/dmi/id/product_name")
HASHED_SECONDS = 2.0
BURSTABLE = ("t2.", "t3.", "t3a.", "t4g.")
"""Instance types whose processors slow down once their credits are spent."""

BLOCK = bytes(1024 * 1024)
MOST_FINDINGS, LONGEST = 8, 200
SHARED_FAULTS = {errno.ENOSPC, errno.EDQUOT}
"""Errors of a disk that users can cause, which are not the node's fault."""

Found = Iterator[Finding | tuple[str, float]]
Order = dict[str, Any]


def main(order: Order) -> None:
    """Run the checks that the controller ordered and leave the result in this job's comment."""
    findings, numbers = [], {}
    for name in order["kinds"]:
        for found in _safely(name, order):
            if isinstance(found, Finding):
                findings.append((found.check, found.verdict.value, found.detail[:LONGEST]))
            else:
                numbers[found[0]] = round(found[1], 1)
    result = {"type": _type(), "findings": findings[:MOST_FINDINGS], "numbers": numbers}
    comment = base64.b64encode(zlib.compress(json.dumps(result).encode())).decode()
    job = f"jobid={os.environ['SLURM_JOB_ID']}"
    subprocess.run([SCONTROL, "update", job, f"comment={comment}"], check=True, timeout=60)


def _safely(name: str, order: Order) -> Found:
    """Yield a check's findings; a check that crashes says nothing about the node."""
    try:
        yield from CHECKS[name](order)
    except Exception as error:  # noqa: BLE001  # whatever it is
        yield Finding(name, Verdict.REPORTED, f"{type(error).__name__}: {error}")


def _processor(_: Order) -> Found:
    """Hash on all processors at once to find throttling that EC2 does not do by design."""
    if _type().startswith(BURSTABLE):
        return
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:  # hashlib releases the GIL
        counts = list(pool.map(lambda _: _hashed(), range(os.cpu_count() or 1)))
    yield "processor MiB/s", sum(counts) / HASHED_SECONDS


def _hashed() -> int:
    count, until = 0, time.monotonic() + HASHED_SECONDS
    while time.monotonic() < until:
        hashlib.sha256(BLOCK).digest()
        count += 1
    return count


def _scratch(order: Order) -> Found:
    folder = order["scratch"]
    if not folder or not os.path.ismount(folder):
        return  # a node without such disks; slurmpod-health finds one that lost them
    try:
        written, read = measured(folder)
    except OSError as error:
        is_fault = error.errno not in SHARED_FAULTS
        detail = f"{folder} cannot be used: {error.strerror or error}"
        yield Finding(SCRATCH, Verdict.BAD if is_fault else Verdict.REPORTED, detail)
        return
    yield "scratch write MiB/s", written
    yield "scratch read MiB/s", read


def _shared_storage(order: Order) -> Found:
    for folder in filter(os.path.ismount, order["shared_folders"]):
        try:
            written, read = measured(folder)
        except OSError as error:
            detail = f"{folder} cannot be used: {error.strerror or error}"
            yield Finding(SHARED_STORAGE, Verdict.REPORTED, detail)
            continue
        yield f"{folder} write MiB/s", written
        yield f"{folder} read MiB/s", read


def _accelerators(order: Order) -> Found:
    if order["accelerator"] == "gpu":
        yield from gpu_findings(order["dcgm_level"])
    elif order["accelerator"] == "neuron":
        yield from neuron_numbers().items()


def _pairs(order: Order) -> Found:
    yield from pair_numbers(order["nodes"]).items()
    if bound := order["all_reduce_bound"]:
        yield from all_reduce(order["nodes"], bound, order["least_share"])
    yield from efa_exchange(order["nodes"])


def _rings(order: Order) -> Found:
    yield from all_reduce(order["nodes"], order["ring_bound"], order["least_share"])


CHECKS: dict[str, Callable[[Order], Found]] = {
    PROCESSOR: _processor,
    SCRATCH: _scratch,
    SHARED_STORAGE: _shared_storage,
    ACCELERATORS: _accelerators,
    PAIRS: _pairs,
    RINGS: _rings,
}


def _type() -> str:
    try:
        return PRODUCT_NAME.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def start() -> None:
    """Run as a batch script, started by Slurm with the order as its argument."""
    main(json.loads(sys.argv[1]))
