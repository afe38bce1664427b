"""Faults, and the running of one on a whole cluster that has to be whole again afterwards."""

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
"""Does nothing but the fault itself, to the nodes of a job, that of its batch script first."""


class Need(Enum):
    """What some faults need of a cluster, beside what all of them do."""

    CUSTOMER = (
        "our own scripts have to start Slurm and mount file systems (lifecycle.mode: customer)"
    )
    CONTINUOUS = "nodes have to come one by one (cluster.provisioning: continuous)"
    PLAN = "the workers have to have a training plan (training_plan_arn of their group)"
    OTHER_ZONE = "the workers have to be in another zone than the controller (zone of their group)"


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong: how people call it, what becomes of it, and how it is done.

    `sees` is what a user of the cluster notices, `logged` where the cause is written, `recovers`
    what mends itself and what a person has to do. `act` lets it loose, waits for every state that
    these texts promise, and mends what a person has to mend. `need` is what not every cluster has.
    `strike` is there if it can be done to whatever runs; it returns when its cause is gone, or when
    only the platform can mend it.
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
    """The effects of a fault on a cluster; `lost` names every job, record or file that it cost.

    `noticed_seconds` counts from the fault. `recovered_seconds` counts from when its cause was
    gone: that is the fault itself where nobody had to mend anything.
    """

    name: str
    title: str
    moments: tuple[Moment, ...]
    lost: tuple[str, ...]
    total_seconds: float

    @property
    def noticed_seconds(self) -> float | None:
        """How long it took until a user could see it; None for what nobody notices."""
        return self._first(Stage.NOTICED)

    @property
    def recovered_seconds(self) -> float:
        """How long it took, without its cause, until everything was as before."""
        end = max(moment.seconds for moment in self.moments)
        mended = [each.seconds for each in self.moments if each.stage is Stage.MENDED]
        return round(end - max(mended, default=0.0), 2)

    def as_data(self) -> dict[str, object]:
        """Return all of it as plain data, for `--json` and for the record of a rehearsal."""
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
"""How long a state may take to come, beside what Slurm itself waits for a silent node."""


def run_fault(fault: Fault, cluster: FaultCluster, teller: Teller | None = None) -> FaultReport:
    """Run one fault to its end; raises FaultFailed when the cluster does not behave as it should.

    Whatever a job lost is in the report.
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
    """Turn what AWS refuses, and what nodes and commands fail in, into FaultFailed."""
    try:
        yield
    except (BotoCoreError, ClientError, CommandFailed, FaultFailed, MachineFailed) as failure:
        raise FaultFailed(f"{fault.name}: {failure}") from failure


def patient_watch(cluster: FaultCluster, teller: Teller | None) -> Watch:
    """Return a watch that waits for what Slurm itself waits for, too."""
    return Watch(PATIENCE_SECONDS + 2 * cluster.slurmd_timeout(), teller)


def _cancel(watch: Watch) -> None:
    """Take what jobs of a fault are left, if it went wrong, out of the next one's way."""
    for job in watch.jobs:
        with contextlib.suppress(CommandFailed):  # what went wrong may be this, too
            job.cancel()
