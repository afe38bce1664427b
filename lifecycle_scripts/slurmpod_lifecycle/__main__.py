"""`python3 -m slurmpod_lifecycle REPORT`: set this node up, and leave a report in a file.

Ends with status 0 when all required steps succeeded, else with 1 and a last line that names the
step, its reason and its fix.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod_lifecycle.failures import StepFailed
from slurmpod_lifecycle.identify import Identify
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.report import report_json, summary
from slurmpod_lifecycle.resource_config import path_of
from slurmpod_lifecycle.runner import Result, Runner, State, log
from slurmpod_lifecycle.settings import load_settings
from slurmpod_lifecycle.steps import steps_for

if TYPE_CHECKING:
    from slurmpod_lifecycle.node import Node

SETTINGS = Path(__file__).parents[1] / "settings.json"
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def main(report_path: str) -> int:
    """Set the node up, report, and return the exit status."""
    _log_to_stdout()
    started_at = time.strftime(TIME_FORMAT, time.gmtime())
    machine = Machine()
    results, node = _set_up(machine)
    try:
        machine.write(report_path, report_json(results, node, started_at))
    except OSError as error:
        log.warning("the report cannot be written: %s", error)
    logging.disable()  # threads of stopped steps may live on: nothing comes after the last line
    sys.stdout.write(f"{summary(results, node)}\n")
    return int(any(result.is_fatal for result in results))


def _set_up(machine: Machine) -> tuple[tuple[Result, ...], Node | None]:
    try:
        settings = load_settings(SETTINGS)
    except StepFailed as error:
        failed = Result("settings", State.FAILED, True, detail=error.reason, fix=error.fix)
        return (failed,), None
    runner = Runner(settings.step_timeout_seconds)
    identify = Identify(settings, machine, path_of(os.environ))
    results = runner.run([identify])
    if identify.node is None:
        return results, None
    return (*results, *runner.run(steps_for(identify.node))), identify.node


def _log_to_stdout() -> None:
    formatter = logging.Formatter("%(asctime)s %(message)s", TIME_FORMAT)
    formatter.converter = time.gmtime
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
