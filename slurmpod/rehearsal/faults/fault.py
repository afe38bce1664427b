"""Faults, and running one on a cluster that must be whole again afterwards."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from botocore.exceptions import BotoCoreError, ClientError

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.usual import usual_duration
from slurmpod.rehearsal.faults.watch import FaultFailed, Moment, Stage, Teller, Watch
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.shell import CommandFailed

Strike = Callable[[FaultCluster, Watch, Sequence[str]], None]
"""Injects only the fault itself, on the nodes of a job, its batch host first."""


class Need(Enum):
    """A requirement of some faults on the cluster, besides the common ones."""

    CUSTOMER = (
        "slurmpod's own scripts must start Slurm and mount file systems (lifecycle.mode: customer)"
    )
    CONTINUOUS = "nodes must be provisioned one by one (cluster.provisioning: continuous)"
    PLAN = "the workers must have a training plan (training_plan_arn of their group)"
    OTHER_ZONE = "the workers must be in another zone than the controller (zone of their group)"


@dataclass(frozen=True)
class Fault:
    """A fault: its name and title, its effects, and how to inject it.

    `sees` is what a user of the cluster notices, `logged` where the cause is logged, `recovers`
    what is repaired automatically and what a user has to do. `act` injects the fault, waits for
    every state in these texts, and does the user's part of the repair. `need` is a requirement that
    not every cluster meets. `strike` exists if the fault can be injected into any workload; it
    returns when its cause is gone, or when only the platform can repair it.
    """

    name: str
    title: str
    sees: str
    logged: str
    recovers: str
    act: Callable[[FaultCluster, Watch], None]
    need: Need | None = None
    strike: Strike | None = None


@dataclass(frozen=True)
class FaultReport:
    """The effects of a fault on a cluster; `lost` names every lost job, record or file.

    `noticed_seconds` counts from the fault. `recovered_seconds` counts from when its cause was
    removed: that is the fault itself if no action was needed.
    """

    name: str
    title: str
    moments: tuple[Moment, ...]
    lost: tuple[str, ...]
    total_seconds: float

    @property
    def noticed_seconds(self) -> float | None:
        """The time until a user could notice it; None if users notice nothing."""
        return self._first(Stage.NOTICED)

    @property
    def recovered_seconds(self) -> float:
        """The time from the removal of its cause until everything was as before."""
        end = max(moment.seconds for moment in self.moments)
        repaired = [each.seconds for each in self.moments if each.stage is Stage.REPAIRED]
        return round(end - max(repaired, default=0.0), 2)

    def as_data(self) -> dict[str, object]:
        """Return the report as plain data, for `--json` and for the record of a rehearsal."""
        return {
            "name": self.name,
            "title": self.title,
            "noticed_seconds": self.noticed_seconds,
            "recovered_seconds": self.recovered_seconds,
            "total_seconds": self.total_seconds,
            "lost": list(self.lost),
            "moments": [
                {"seconds": each.seconds, "stage": each.stage.value, "what": each.what}
                for each in self.moments
            ],
        }

    def _first(self, stage: Stage) -> float | None:
        return next((each.seconds for each in self.moments if each.stage is stage), None)


PATIENCE_SECONDS = 60.0
"""The time limit for a state, in addition to Slurm's own timeout for a silent node."""


def run_fault(fault: Fault, cluster: FaultCluster, teller: Teller | None = None) -> FaultReport:
    """Run one fault to its end; raises FaultFailed if the cluster does not behave as expected.

    The report names what jobs lost.
    """
    started = time.monotonic()
    watch = patient_watch(cluster, teller)
    if teller:
        usually = usual_duration(fault.name)
        teller.note(f"{fault.title} ({fault.name}){f': usually {usually}' if usually else ''}")
    try:
        with as_fault_failed(fault):
            cluster.require_whole(watch)
            fault.act(cluster, watch)
            cluster.require_whole(watch)
            lost = tuple(loss for job in watch.jobs for loss in job.losses())
    finally:
        _cancel(watch)
    seconds = round(time.monotonic() - started, 2)
    return FaultReport(fault.name, fault.title, watch.moments, lost, seconds)


@contextlib.contextmanager
def as_fault_failed(fault: Fault) -> Iterator[None]:
    """Turn errors of AWS, nodes and commands into FaultFailed."""
    try:
        yield
    except (BotoCoreError, ClientError, CommandFailed, FaultFailed, MachineFailed) as failure:
        raise FaultFailed(f"{fault.name}: {failure}") from failure


def patient_watch(cluster: FaultCluster, teller: Teller | None) -> Watch:
    """Return a watch whose time limit includes Slurm's own timeouts."""
    return Watch(PATIENCE_SECONDS + 2 * cluster.slurmd_timeout(), teller)


def _cancel(watch: Watch) -> None:
    """Cancel the remaining jobs of a fault, if it failed, so that they do not disturb the next."""
    for job in watch.jobs:
        with contextlib.suppress(CommandFailed):  # this may have failed for the same reason
            job.cancel()
