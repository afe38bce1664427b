"""The clock, as chrony or systemd reports it: a wrong one makes nodes reject credentials.

`chronyc -c tracking` prints comma-separated fields (chronyc(1)): the fifth is the offset of the
system's clock in seconds, the last is the leap status.
"""

from __future__ import annotations

from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed, ProbeMissing, probe

NAME = "clock"
SECONDS = 2.0
LARGEST_OFFSET_SECONDS = 10.0
"""Munge rejects credentials that are minutes off; chrony keeps a healthy node within some ms."""

OFFSET_FIELD = 4


def check() -> Finding | None:
    """Check whether the clock is right; return None if no service can say."""
    try:
        return judge_tracking(probe("chronyc", "-n", "-c", "tracking", seconds=SECONDS))
    except ProbeMissing:
        return _ask_systemd()
    except ProbeFailed as error:
        return Finding(NAME, Verdict.REPORTED, f"chrony: {error}")


def judge_tracking(line: str) -> Finding:
    """Judge the clock by the output of `chronyc -c tracking`."""
    fields = line.strip().split(",")
    try:
        offset = abs(float(fields[OFFSET_FIELD]))
    except (IndexError, ValueError):
        return Finding(NAME, Verdict.REPORTED, f"chrony says '{line.strip()}'")
    if offset > LARGEST_OFFSET_SECONDS:
        return Finding(NAME, Verdict.BAD, f"the clock is off by {offset:.0f} s")
    if fields[-1] == "Not synchronised":
        return Finding(NAME, Verdict.REPORTED, "the clock is not synchronised")
    return Finding(NAME, Verdict.GOOD, f"off by {offset:.6f} s")


def _ask_systemd() -> Finding | None:
    try:
        said = probe("timedatectl", "show", "--property=NTPSynchronized", seconds=SECONDS)
    except ProbeFailed:
        return None
    if said.strip().endswith("=yes"):
        return Finding(NAME, Verdict.GOOD, "synchronised")
    return Finding(NAME, Verdict.REPORTED, "the clock is not synchronised")
