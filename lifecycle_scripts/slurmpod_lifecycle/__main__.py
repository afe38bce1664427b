"""`python3 -m slurmpod_lifecycle REPORT`: set this node up and write a report to a file.

With `--dry-run` in place of the file it only prints what it would do. Exits with 0 if all required
steps succeeded, else with 1 and a last line that names the step, the reason and the fix.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from slurmpod_lifecycle.dry_run import ReadOnlyMachine, preview
from slurmpod_lifecycle.identify import Identify
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, resource_config_path
from slurmpod_lifecycle.own_process import in_own_process
from slurmpod_lifecycle.report import make_report, report_json, report_line
from slurmpod_lifecycle.report_copy import copy_report
from slurmpod_lifecycle.runner import Result, Runner, State, line_of, log
from slurmpod_lifecycle.settings import SETTINGS, Settings, load_settings
from slurmpod_lifecycle.step import Step, StepFailed
from slurmpod_lifecycle.steps import steps_for

Run = Callable[[Settings, Sequence[Step]], tuple[Result, ...]]

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
DRY_RUN = "--dry-run"


def main(report_path: str) -> int:
    """Set the node up, write the report and return the exit status."""
    machine = Machine()
    report, node = _report_of(machine, _run)
    try:
        machine.write(report_path, report_json(report))
    except OSError as error:
        log.warning("the report cannot be written: %s", error)
    if node:
        copy_report(node, report_json(report))
    return _end(report)


def dry_run() -> int:
    """Print what `main` would do, and return the expected exit status."""
    report, _ = _report_of(ReadOnlyMachine(), _preview)
    return _end(report)


def _report_of(machine: Machine, run: Run) -> tuple[dict[str, Any], Node | None]:
    _log_to_stdout()
    started_at = time.strftime(TIME_FORMAT, time.gmtime())
    results, node = _results(machine, run)
    return make_report(results, node, started_at), node


def _results(machine: Machine, run: Run) -> tuple[tuple[Result, ...], Node | None]:
    try:
        settings = load_settings(SETTINGS)
    except StepFailed as error:
        failed = Result("settings", State.FAILED, True, detail=error.reason, fix=error.fix)
        return (failed,), None
    identify = Identify(settings, machine, resource_config_path(os.environ))
    results = Runner(settings.step_timeout_seconds).run([identify])
    if identify.node is None:
        return results, None
    return (*results, *run(settings, steps_for(identify.node))), identify.node


def _run(settings: Settings, steps: Sequence[Step]) -> tuple[Result, ...]:
    return Runner(settings.step_timeout_seconds).run(steps)


def _preview(_: Settings, steps: Sequence[Step]) -> tuple[Result, ...]:
    results = []
    for result in preview(steps):
        results.append(result)
        log.log(*line_of(result))
    return tuple(results)


def _end(report: dict[str, Any]) -> int:
    """Print the report for programs, then the last line for people; return the exit status."""
    logging.disable()  # threads of stopped steps may still run: nothing may follow the last line
    sys.stdout.write(f"{report_line(report)}\n{report['summary']}\n")
    return int(not report["succeeded"])


def _log_to_stdout() -> None:
    formatter = logging.Formatter("%(asctime)s %(message)s", TIME_FORMAT)
    formatter.converter = time.gmtime
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler])


if __name__ == "__main__":
    sys.exit(dry_run() if sys.argv[1] == DRY_RUN else in_own_process(lambda: main(sys.argv[1])))
