"""`slurmpod-health`: check this worker and print a table; exits with status 3 for a bad node.

`--prolog` and `--epilog` are for Slurm: a bad node drains itself, and a job that was about to start
there is requeued. If Slurm does not answer, jobs start. `--resume` resumes a node that is good
again, if this program had drained it.
"""

from __future__ import annotations

import argparse
import os
import sys
import syslog
from collections.abc import Sequence

from slurmpod_health.checks import run_checks
from slurmpod_health.expectations import Expectations
from slurmpod_health.finding import Finding, Verdict, reason, table
from slurmpod_health.probe import ProbeFailed
from slurmpod_health.scontrol import Scontrol, drain, requeue, resume

UNHEALTHY = 3
"""Any other exit status says nothing about the node, and Slurm must not drain it for that."""


def main(arguments: Sequence[str]) -> int:
    """Run the requested action and return the exit status."""
    options = _options(arguments)
    expected = Expectations.load()
    findings = run_checks(expected)
    why = reason(findings)
    if options.prolog or options.epilog:
        _log(findings)
        if why and not _out_of_service(expected.node, why, job=_job() if options.prolog else ""):
            return 0
    else:
        sys.stdout.write(table(findings))
        if options.resume and not why and resume(Scontrol.starting_now(), expected.node):
            sys.stdout.write(f"{expected.node} takes jobs again\n")
    return UNHEALTHY if why else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="slurmpod-health", description="Check this worker.")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--prolog", action="store_true", help="as Slurm calls it before a job")
    ways.add_argument("--epilog", action="store_true", help="as Slurm calls it after a job")
    ways.add_argument(
        "--resume",
        action="store_true",
        help="resume the node if these checks had drained it and all pass",
    )
    return parser.parse_args(arguments)


def _job() -> str:
    return os.environ.get("SLURM_JOB_ID", "")


def _out_of_service(node: str, why: str, *, job: str) -> bool:
    """Drain the node and let `job` start elsewhere, which Slurm allows only for batch jobs.

    Return whether no job may start here. It is false if the fault may affect all nodes, or if Slurm
    does not confirm the drain. A Prolog that fails on any other node makes Slurm drain it for a
    `Prolog error`, which is not counted against half of a partition and not undone.
    """
    scontrol = Scontrol.starting_now()
    try:
        is_drained = drain(scontrol, node, why)
    except ProbeFailed as error:
        text = (
            f"{node} goes on until it is checked again, as Slurm does not answer ({error}): {why}"
        )
        syslog.syslog(syslog.LOG_ERR, text)
        return False
    if not is_drained:
        text = f"{node} goes on, as half of its partition has drained itself: {why}"
        syslog.syslog(syslog.LOG_ERR, text)
        return False
    syslog.syslog(syslog.LOG_ERR, f"{node} is out of service: {why}")
    if job:
        _requeue(scontrol, job)
    return True


def _requeue(scontrol: Scontrol, job: str) -> None:
    try:
        requeue(scontrol, job)
    except ProbeFailed as error:
        syslog.syslog(syslog.LOG_WARNING, f"scontrol: {error}")


def _log(findings: Sequence[Finding]) -> None:
    for finding in findings:
        if finding.verdict is not Verdict.GOOD:
            text = f"{finding.check} is {finding.verdict.value}: {finding.detail}"
            syslog.syslog(syslog.LOG_WARNING, text)


if __name__ == "__main__":
    syslog.openlog("slurmpod-health")
    sys.exit(main(sys.argv[1:]))
