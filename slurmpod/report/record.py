"""How an environment was deployed and its current state, as far as it could be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from slurmpod.aws.stack_events import StackRun
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.goodput import Goodput
from slurmpod.operations.idle_checks import CheckedNodes
from slurmpod.operations.lifecycle import NodeReport
from slurmpod.operations.panel_pictures import PanelPicture
from slurmpod.operations.status import Status
from slurmpod.slurm.records import JobRecord


@dataclass(frozen=True)
class FaultMoment:
    """An event some seconds after a fault; `stage` as the rehearsal names it."""

    seconds: float
    stage: str
    what: str


@dataclass(frozen=True)
class FaultRecord:
    """A fault of a rehearsal; `noticed_seconds` is None if nothing notices it.

    `recovered_seconds` counts from the end of its cause. `lost` is its cost.
    """

    name: str
    title: str
    noticed_seconds: float | None
    recovered_seconds: float
    lost: tuple[str, ...]
    moments: tuple[FaultMoment, ...]

    @property
    def last_seconds(self) -> float:
        """Seconds from the fault to its last moment."""
        return max((moment.seconds for moment in self.moments), default=0.0)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Read the rehearsal's record."""
        return cls(
            name=data["name"],
            title=data["title"],
            noticed_seconds=data["noticed_seconds"],
            recovered_seconds=data["recovered_seconds"],
            lost=tuple(data["lost"]),
            moments=tuple(FaultMoment(**each) for each in data["moments"]),
        )


@dataclass(frozen=True)
class Rehearsed:
    """Facts of a rehearsal only: its id, its failure (or empty), and its injected faults.

    A cloud-only rehearsal has no nodes to query.
    """

    identifier: str
    has_nodes: bool = True
    failure: str = ""
    faults: tuple[FaultRecord, ...] = ()


@dataclass(frozen=True)
class Record:
    """The record of a deployed environment; parts that could not be read have the reason.

    `launched` has the launch times of instances by id. `checks` is None if idle nodes are not
    checked, `panels` if the environment has no Prometheus, `rehearsed` in AWS.
    """

    status: Status
    runs: tuple[StackRun, ...] | Unavailable
    nodes: tuple[NodeReport, ...] | Unavailable
    launched: Mapping[str, datetime]
    jobs: tuple[JobRecord, ...] | Unavailable
    goodput: Goodput | Unavailable
    checks: CheckedNodes | Unavailable | None = None
    panels: tuple[PanelPicture, ...] | Unavailable | None = None
    rehearsed: Rehearsed | None = None
