"""The page docs/faults.md, generated from the faults and the figures of one run."""

from __future__ import annotations

from slurmpod.rehearsal.faults.fault import Fault, Need
from slurmpod.rehearsal.faults.registry import FAULTS
from slurmpod.rehearsal.faults.usual import Usual, usual

INTRODUCTION = """\
# Faults

Inject faults of real clusters into a rehearsed one:

    slurmpod rehearse environments/dev.yaml --fault worker-power-cut

The fault occurs after the first job; `--fault all` tries every fault that the environment supports.
The command reports what happened and what it waits for: the states below, in `sinfo`, `squeue`,
`sacct`, systemd, CloudWatch Logs and Slurm's logs. It fails if the cluster does not recover, or if
a job, a record or a line of output was lost. `lifecycle.mode` must be `customer` or `extended`.

`--keep` keeps the rehearsal running, and `slurmpod rehearsal fault NAME` injects one fault into it.
To see how your own job reacts, run [a drill](resume.md#drills); faults marked "Not for drills" need
special jobs. [That page](resume.md) also covers checkpoints that are cut off in the middle.

Some faults need customer mode: in extended mode HyperPod starts Slurm and mounts the file system
before slurmpod's scripts run. Some need continuous provisioning: without it HyperPod creates all
nodes or none.

The figures are for `environments/dev.yaml` in customer mode, where needed with a separate zone for
the workers or a training plan, one run per fault, on a small busy machine. `SlurmdTimeout` is
HyperPod's, 300 s; nodes boot in seconds, not minutes. The figures show what the cluster waits for,
not how long AWS takes.

`make golden` generates this page from the faults; `python -m tools.fault_figures` records the
figures.
"""

MEASURED = "- Measured: "
NEEDS = {
    Need.CUSTOMER: "`lifecycle.mode: customer`",
    Need.CONTINUOUS: "`cluster.provisioning: continuous`",
    Need.PLAN: "a `training_plan_arn` of the workers, and `cluster.provisioning: continuous`",
    Need.OTHER_ZONE: "a separate `zone` for the workers (`cluster.groups`), as Slurm fails with the"
    " controller's zone",
}


def faults_page() -> str:
    """Return the page of all faults, with their usual durations."""
    return "\n".join((INTRODUCTION, *map(_section, FAULTS)))


def figures(usual: Usual) -> str:
    """Return the durations of a fault as one line."""
    noticed = usual.noticed_seconds
    seen = "not noticed" if noticed is None else f"noticed after {noticed:.1f} s"
    return (
        f"{seen}; recovered {usual.recovered_seconds:.1f} s after the cause was gone;"
        f" {usual.total_seconds:.0f} s in all"
    )


def _section(fault: Fault) -> str:
    only = f"- Only with: {NEEDS[fault.need]}\n" if fault.need else ""
    drill = "" if fault.strike else "- Not for drills\n"
    return (
        f"## {fault.title} (`{fault.name}`)\n\n"
        f"- Seen: {fault.sees}\n"
        f"- Logged: {fault.logged}\n"
        f"- Recovery: {fault.recovers}\n"
        f"{only}{drill}{MEASURED}{figures(usual()[fault.name])}\n"
    )
