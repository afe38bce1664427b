"""The faults as a page of Markdown: docs/faults.md is made of them, and of one run's figures."""

from __future__ import annotations

from slurmpod.rehearsal.faults.fault import Fault, Need
from slurmpod.rehearsal.faults.registry import FAULTS
from slurmpod.rehearsal.faults.usual import Usual, usual

INTRODUCTION = """\
# Faults

What goes wrong on real clusters, done to a rehearsed one:

    slurmpod rehearse environments/dev.yaml --fault worker-power-cut

lets one of these loose after the first job, `--fault all` one after the other, as far as the
environment can have them. Each waits for the exact states that are promised here, in `sinfo`,
`squeue`, `sacct`, systemd, CloudWatch Logs and Slurm's logs; each ends with a cluster that is
whole, and fails if a job, a record or a line of output was lost. Our own scripts have to run:
`lifecycle.mode` is `customer` or `extended`.

While a fault takes its time, the command says what happened and what it waits for; with `--keep`
the rehearsal stays up afterwards. `slurmpod rehearsal fault NAME` does one to a rehearsal that was
kept. If jobs run there, it is done to them, and the command says what became of each: see
[Drills](resume.md#drills).

The figures are those of `environments/dev.yaml`, in customer mode, with a zone of the workers' own
or with a training plan where a fault needs that, each fault once, on a small machine that had other
work to do. `SlurmdTimeout` is HyperPod's, 300 s; nodes boot in seconds, not minutes. So they say
what is waited for, not how long AWS takes.

A checkpoint that is cut off in the middle of writing is the business of jobs: see
[resume.md](resume.md).

This page is made from the faults themselves (`make golden`), its figures by
`python -m tools.fault_figures`.
"""

MEASURED = "- Measured: "
NEEDS = {
    Need.CUSTOMER: "`lifecycle.mode: customer`. In extended mode HyperPod starts Slurm and mounts"
    " the file system before our scripts run.",
    Need.CONTINUOUS: "`cluster.provisioning: continuous`. Else HyperPod makes all nodes or none.",
    Need.PLAN: "a `training_plan_arn` of the workers, and `cluster.provisioning: continuous`.",
    Need.OTHER_ZONE: "a `zone` of the workers' own (`cluster.groups`). A controller that is lost"
    " with its zone takes Slurm along.",
}


def faults_page() -> str:
    """Return the page of all faults, with how long each usually takes."""
    return "\n".join((INTRODUCTION, *map(_section, FAULTS)))


def figures(usual: Usual) -> str:
    """Return how long a fault takes, in a few words."""
    noticed = usual.noticed_seconds
    seen = "nobody notices" if noticed is None else f"noticed after {noticed:.1f} s"
    return (
        f"{seen}; everything was as before {usual.recovered_seconds:.1f} s after the cause was"
        f" gone; the whole rehearsal of the fault took {usual.total_seconds:.0f} s"
    )


def _section(fault: Fault) -> str:
    only = f"- Only with: {NEEDS[fault.need]}\n" if fault.need else ""
    drill = "" if fault.strike else "- Not for drills: it needs jobs of its own.\n"
    return (
        f"## {fault.title} (`{fault.name}`)\n\n"
        f"- What the user sees: {fault.sees}\n"
        f"- What is logged: {fault.logged}\n"
        f"- What recovers: {fault.recovers}\n"
        f"{only}{drill}{MEASURED}{figures(usual()[fault.name])}\n"
    )
