"""The faults as a page of Markdown: docs/faults.md is made of them, and of one run's figures."""

from __future__ import annotations

from slurmpod.rehearsal.faults.fault import Fault, Need
from slurmpod.rehearsal.faults.registry import FAULTS
from slurmpod.rehearsal.faults.usual import Usual, usual

INTRODUCTION = """\
# Faults

Do to a rehearsed cluster what goes wrong on real ones:

    slurmpod rehearse environments/dev.yaml --fault worker-power-cut

The fault comes after the first job; `--fault all` tries each that the environment can have. The
command says what happened and what it waits for: the states below, in `sinfo`, `squeue`, `sacct`,
systemd, CloudWatch Logs and Slurm's logs. It fails if the cluster does not recover, or if a job, a
record or a line of output was lost. `lifecycle.mode` must be `customer` or `extended`.

`--keep` keeps the rehearsal, and `slurmpod rehearsal fault NAME` does one fault to it. To see what
becomes of a job of yours, run [a drill](resume.md#drills); faults that are not for drills need jobs
of their own. Checkpoints that are cut off in the middle are on [that page](resume.md), too.

Some faults need customer mode: in extended mode HyperPod starts Slurm and mounts the file system
before our scripts run. Some need continuous provisioning: without it HyperPod makes all nodes or
none.

The figures are of `environments/dev.yaml` in customer mode, where needed with a zone of the
workers' own or a training plan, each fault once, on a small busy machine. `SlurmdTimeout` is
HyperPod's, 300 s; nodes boot in seconds, not minutes. They show what is waited for, not how long
AWS takes.

Made from the faults themselves (`make golden`), the figures by `python -m tools.fault_figures`.
"""

MEASURED = "- Measured: "
NEEDS = {
    Need.CUSTOMER: "`lifecycle.mode: customer`",
    Need.CONTINUOUS: "`cluster.provisioning: continuous`",
    Need.PLAN: "a `training_plan_arn` of the workers, and `cluster.provisioning: continuous`",
    Need.OTHER_ZONE: "a `zone` of the workers' own (`cluster.groups`), as Slurm goes with the"
    " controller's",
}


def faults_page() -> str:
    """Return the page of all faults, with how long each usually takes."""
    return "\n".join((INTRODUCTION, *map(_section, FAULTS)))


def figures(usual: Usual) -> str:
    """Return how long a fault takes, in a few words."""
    noticed = usual.noticed_seconds
    seen = "nobody notices" if noticed is None else f"noticed after {noticed:.1f} s"
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
