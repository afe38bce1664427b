"""Room on the root disk, where Slurm, logs and /tmp are."""

from __future__ import annotations

import os

from slurmpod_health.expectations import Expectations
from slurmpod_health.finding import Finding, Verdict

NAME = "root disk"
MIB = 1024 * 1024


def check(expected: Expectations) -> Finding:
    """Compare what is free for root with what must be."""
    status = os.statvfs("/")
    free = status.f_bfree * status.f_frsize // MIB
    enough = free >= expected.free_mib_on_root
    return Finding(NAME, Verdict.GOOD if enough else Verdict.BAD, f"{free} MiB free on /")
