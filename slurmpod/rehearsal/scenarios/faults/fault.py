"""What a fault is, and what comes of one that was let loose on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmpod.rehearsal.scenarios.faults.cluster import FaultCluster
    from slurmpod.rehearsal.scenarios.faults.watch import Watch


class FaultFailed(Exception):
    """The cluster did not behave as the fault's description says; the text says what it did."""


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong: how people call it, what becomes of it, and how it is done.

    `sees` is what a user of the cluster notices, `logged` where the cause is written, `recovers`
    what mends itself and what a person has to do. `act` lets it loose, waits for every state that
    these texts promise, and mends what a person has to mend. `customer_mode_only` is for faults
    that our scripts have to meet first: in extended mode HyperPod has started Slurm and mounted the
    file system before them, or has failed.
    """

    name: str
    title: str
    sees: str
    logged: str
    recovers: str
    act: Callable[[FaultCluster, Watch], None]
    customer_mode_only: bool = False


class Stage(Enum):
    """How far a fault has come."""

    INJECTED = "injected"
    NOTICED = "noticed"
    MENDED = "mended"
    RECOVERED = "recovered"


@dataclass(frozen=True)
class Moment:
    """Something that happened, in seconds after the fault was injected."""

    seconds: float
    stage: Stage
    what: str


@dataclass(frozen=True)
class FaultReport:
    """What a fault did to a cluster; `lost` names every job, record or file that it cost.

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

    def _first(self, stage: Stage) -> float | None:
        return next((each.seconds for each in self.moments if each.stage is stage), None)
