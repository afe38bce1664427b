"""The faults as a page of Markdown: docs/faults.md is made of them, and of one run's figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from slurmpod.rehearsal.faults.fault import Fault, FaultReport
from slurmpod.rehearsal.faults.registry import FAULTS

INTRODUCTION = """\
# Faults

What goes wrong on real clusters, done to a rehearsed one: `slurmpod rehearse environments/dev.yaml
--fault NAME` lets one of these loose after the first job, `--fault all` one after the other. Each
waits for the exact states that are promised here, in `sinfo`, `squeue`, `sacct`, systemd,
CloudWatch Logs and Slurm's logs; each ends with a cluster that is whole, and fails if a job, a
record or a line of output was lost. Our own scripts have to run: `lifecycle.mode` is `customer` or
`extended`.

The figures are those of one run on a small machine, with `SlurmdTimeout` of 15 s (HyperPod's is
300 s: a silent node is given up that much later) and nodes that boot in seconds, not minutes. They
say what is waited for, not how long AWS takes.

A checkpoint that is cut off in the middle of writing is the business of jobs: see
[resume.md](resume.md).

This page is made from the faults themselves: `pytest tests/rehearsal/faults --update-golden`.
"""

MEASURED = "- Measured: "
CUSTOMER_MODE = (
    "`lifecycle.mode: customer`. In extended mode HyperPod starts Slurm and mounts the file system"
    " before our scripts run."
)
_NOT_YET = "not yet"


def faults_page(measured: Mapping[str, str]) -> str:
    """Return the page of all faults, with what was measured of each, by its name."""
    return "\n".join((INTRODUCTION, *_sections(measured)))


def measured_on(page: str) -> Mapping[str, str]:
    """Return what a page says was measured, by the names of faults."""
    section = rf"^## [^\n]*\(`([a-z0-9-]+)`\)$(?:(?!^## ).)*?^{MEASURED}([^\n]*)$"
    found = re.findall(section, page, re.MULTILINE | re.DOTALL)
    return dict(found)


def figures(report: FaultReport) -> str:
    """Return what was measured of a fault in a few words."""
    noticed = report.noticed_seconds
    seen = "nobody notices" if noticed is None else f"noticed after {noticed:.1f} s"
    return f"{seen}, as before {report.recovered_seconds:.1f} s after its cause was gone"


def _sections(measured: Mapping[str, str]) -> Iterator[str]:
    for fault in FAULTS:
        yield _section(fault, measured.get(fault.name, _NOT_YET))


def _section(fault: Fault, figures: str) -> str:
    only = f"- Only with: {CUSTOMER_MODE}\n" if fault.customer_mode_only else ""
    return (
        f"## {fault.title} (`{fault.name}`)\n\n"
        f"- What the user sees: {fault.sees}\n"
        f"- What is logged: {fault.logged}\n"
        f"- What recovers: {fault.recovers}\n"
        f"{only}{MEASURED}{figures}\n"
    )
