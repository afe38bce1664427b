"""All checks of a node, run in parallel: together they take as long as the slowest one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from slurmpod_health import clock, disks, hardware
from slurmpod_health.expectations import Expectations
from slurmpod_health.finding import Finding, Verdict


def run_checks(expected: Expectations) -> tuple[Finding, ...]:
    """Return the findings in the order of the checks, without those that do not apply here."""
    checks = _checks(expected)
    found: list[Finding | None] = [None] * len(checks)

    def work(index: int) -> None:
        found[index] = _safely(checks[index])

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(checks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tuple(finding for finding in found if finding)


def _checks(expected: Expectations) -> Sequence[Callable[[], Finding | None]]:
    scratch = expected.scratch
    return (
        partial(hardware.check_accelerators, expected),
        partial(hardware.check_efa, expected),
        *([partial(disks.check_scratch, scratch, expected.node)] if scratch else []),
        *(partial(disks.check_shared, each, expected.node) for each in expected.shared_folders),
        partial(disks.check_root_disk, expected),
        clock.check,
    )


def _safely(check: Callable[[], Finding | None]) -> Finding | None:
    """Run a check; one that crashes is reported and drains no node."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001  # a crash of the check says nothing about the node
        return Finding("health check", Verdict.REPORTED, f"{type(error).__name__}: {error}")
