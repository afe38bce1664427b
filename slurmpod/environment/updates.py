"""HyperPod's own updates of the software of an instance group."""

from typing import Annotated, Literal

from pydantic import Field

from slurmpod.environment.base import Section
from slurmpod.environment.effect import Effect, Kind

ALARMS = Effect(Kind.IN_PLACE, "changed in place; counts from the next update on")


class Rollout(Section):
    """An update in batches, which alarms can turn back."""

    batch_count: Annotated[int | None, ALARMS, Field(ge=1, le=6758)] = None
    """Nodes that are updated at a time; or write `batch_percent`."""

    batch_percent: Annotated[int | None, ALARMS, Field(ge=1, le=100)] = None
    """Share of the nodes that is updated at a time."""

    rollback_batch_count: Annotated[int | None, ALARMS, Field(ge=1, le=6758)] = None
    """Nodes that are turned back at a time; or write `rollback_batch_percent`."""

    rollback_batch_percent: Annotated[int | None, ALARMS, Field(ge=1, le=100)] = None
    """Share of the nodes that is turned back at a time."""

    wait_seconds: Annotated[int | None, ALARMS, Field(ge=0, le=3600)] = None
    """Time between two batches, in which alarms can go off."""

    rollback_alarms: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=255)], ...],
        ALARMS,
        Field(max_length=10),
    ] = ()
    """Names of CloudWatch alarms that turn the update back."""


class ScheduledUpdate(Section):
    """A regular update of the nodes' software."""

    schedule: Annotated[
        str,
        ALARMS,
        Field(pattern=r"^cron\([^()]+\)$", max_length=256, examples=["cron(0 3 ? * SUN *)"]),
    ]
    """When it begins, as cron(minute hour day month weekday year) in UTC."""

    rollout: Annotated[Rollout | None, ALARMS] = None
    """In what batches; default: all nodes at once."""


class AutoPatch(Section):
    """Patches of the nodes' image with regard to running jobs; HyperPod sets the dates.

    NextPatchDate is no key here: for CloudFormation it is read-only (resource schema).
    """

    strategy: Annotated[Literal["WhenIdle", "WhenAllIdle"], ALARMS]
    """Patch each node as soon as it is idle, or all of the group when all of it is."""

    rollout: Annotated[Rollout | None, ALARMS] = None
    """In what batches; default: HyperPod chooses."""
