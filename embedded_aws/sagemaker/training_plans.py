"""Training plans: capacity reserved for a period, and the groups that use it.

Any capacity is offered, from the current hour or the requested time, in each zone of the Region,
and any plan can be extended; the price is fictitious. Statuses follow the clock. Nodes of a plan
that has not started yet are created immediately. Source: API reference, CreateTrainingPlan and
related operations; developer guide, "Utilizing training plans for Amazon SageMaker HyperPod
clusters" (requirements of groups), "Training plans extension" (numbers of days).
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError
from embedded_aws.ids import ids
from embedded_aws.sagemaker.describe import utc

Shape = dict[str, Any]

HYPERPOD = "hyperpod-cluster"
_TARGETS = ("training-job", HYPERPOD)
_ULTRA_SERVERS = {
    "ml.u-p6e-gb200x36": ("ml.p6e-gb200.36xlarge", 9),
    "ml.u-p6e-gb200x72": ("ml.p6e-gb200.36xlarge", 18),
}
"""Instance type and count by UltraServer; each instance has four GPUs."""
_DEFAULT_HOURS = 24
_DAY_HOURS, _WEEK_HOURS = 24, 168
_MOST_SINGLE_DAYS_HOURS, _MOST_EXTENSION_HOURS = 14 * _DAY_HOURS, 182 * _DAY_HOURS
_ID_LENGTH = 12
_HEX = string.digits + "abcdef"


@dataclass(frozen=True)
class Offering:
    """Capacity of one type in one zone; `server` is its UltraServer type, if any."""

    id: str
    instance_type: str
    count: int
    zone: str
    zone_id: str
    begins_at: datetime
    hours: int
    targets: tuple[str, ...]
    server: str | None = None

    @property
    def ends_at(self) -> datetime:
        """The end of the reservation."""
        return self.begins_at + timedelta(hours=self.hours)

    @property
    def server_count(self) -> int | None:
        """The number of its UltraServers."""
        return self.count // _ULTRA_SERVERS[self.server][1] if self.server else None


@dataclass(frozen=True)
class Extension:
    """An extension of a plan, offered or bought."""

    id: str
    plan_arn: str
    zone: str
    zone_id: str
    begins_at: datetime
    hours: int
    count: int

    @property
    def ends_at(self) -> datetime:
        """The end of the plan with this extension."""
        return self.begins_at + timedelta(hours=self.hours)


@dataclass
class TrainingPlan:
    """Capacity reserved under a name, with its extensions."""

    name: str
    arn: str
    capacity_arn: str
    offering: Offering
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    extensions: list[tuple[datetime, Extension]] = field(default_factory=list)
    """Extensions with their times of purchase, oldest first."""
    cut_at: datetime | None = None
    """When it ended early, if it did."""

    @property
    def ends_at(self) -> datetime:
        """The end of the plan, with all of its extensions."""
        planned = self.extensions[-1][1].ends_at if self.extensions else self.offering.ends_at
        return self.cut_at or planned

    @property
    def has_ended(self) -> bool:
        """Whether the plan has ended."""
        return self.status == "Expired"

    @property
    def status(self) -> str:
        """The current status in the SageMaker API."""
        now = datetime.now(UTC)
        if now < self.offering.begins_at:
            return "Scheduled"
        return "Active" if now < self.ends_at else "Expired"


class TrainingPlans:
    """The plans and offerings of all Regions; `is_cut` returns whether a plan ends early, by ARN.

    A plan that is no longer cut becomes valid again.
    """

    def __init__(self, is_cut: Callable[[str], bool]) -> None:
        self._is_cut = is_cut
        self._offered: dict[str, Offering] = {}
        self._extensions: dict[str, Extension] = {}
        self._by_region: dict[str, list[TrainingPlan]] = {}

    def offer(self, aws: Clients, given: Mapping[str, Any]) -> list[Offering]:
        """Return the offerings in the Region for a search, which can be reserved from now on."""
        found = list(_offerings(aws, given))
        self._offered |= {offering.id: offering for offering in found}
        return found

    def reserve(self, aws: Clients, name: str, offering_id: str) -> TrainingPlan:
        """Reserve an offering; raises ResourceNotFound and ResourceInUse."""
        if offering_id not in self._offered:
            raise ServiceError("ResourceNotFound", f"Offering {offering_id} does not exist")
        arn = aws.arn("sagemaker", f"training-plan/{name}")
        if any(plan.arn == arn for plan in self.all(aws.region)):
            raise ServiceError("ResourceInUse", f"Training plan {name} already exists")
        capacity = ids.text("reserved capacity", _ID_LENGTH, _HEX)
        capacity_arn = aws.arn("sagemaker", f"reserved-capacity/{capacity}")
        plan = TrainingPlan(name, arn, capacity_arn, self._offered[offering_id])
        self._by_region.setdefault(aws.region, []).append(plan)
        return plan

    def offer_extension(self, region: str, given: Mapping[str, Any]) -> list[Extension]:
        """Return the offerings that extend a plan by the requested hours, if that is allowed."""
        plan = self.find(region, given["TrainingPlanArn"])
        hours = given.get("DurationHours", _DAY_HOURS)
        if plan.has_ended or not _is_allowed(hours):
            return []
        what = (plan.arn, plan.ends_at, hours)
        extension = Extension(
            id=_id("tpeo", what),
            plan_arn=plan.arn,
            zone=plan.offering.zone,
            zone_id=plan.offering.zone_id,
            begins_at=plan.ends_at,
            hours=hours,
            count=plan.offering.count,
        )
        self._extensions[extension.id] = extension
        return [extension]

    def extend(self, region: str, offering_id: str) -> TrainingPlan:
        """Extend a plan by an offering; raises ResourceNotFound if it is no longer available."""
        extension = self._extensions.get(offering_id)
        if extension is None:
            raise ServiceError("ResourceNotFound", f"Offering {offering_id} does not exist")
        plan = self.find(region, extension.plan_arn)
        if plan.ends_at != extension.begins_at:
            raise ServiceError("ResourceNotFound", f"Offering {offering_id} is no longer available")
        plan.extensions.append((datetime.now(UTC), extension))
        return plan

    def all(self, region: str) -> list[TrainingPlan]:
        """Return the plans of a Region, oldest first."""
        plans = list(self._by_region.get(region, []))
        for plan in plans:
            plan.cut_at = (plan.cut_at or datetime.now(UTC)) if self._is_cut(plan.arn) else None
        return plans

    def find(self, region: str, name_or_arn: str) -> TrainingPlan:
        """Return a plan by its name or its ARN; raises ResourceNotFound."""
        for plan in self.all(region):
            if name_or_arn in (plan.name, plan.arn, plan.capacity_arn):
                return plan
        raise ServiceError("ResourceNotFound", f"Training plan {name_or_arn} does not exist")

    def check(self, aws: Clients, request: Mapping[str, Any], used: Mapping[str, int]) -> None:
        """Raise ValidationException for groups that exceed or do not match their plan.

        `used` are the instances that other clusters have, by plan.
        """
        remaining = {
            plan.arn: plan.offering.count - used.get(plan.arn, 0) for plan in self.all(aws.region)
        }
        refusals: list[str] = []
        for group in request["InstanceGroups"]:
            if "TrainingPlanArn" not in group:
                continue
            plan = self.find(aws.region, group["TrainingPlanArn"])
            remaining[plan.arn] -= group["InstanceCount"]
            subnets = group.get("OverrideVpcConfig", request["VpcConfig"])["Subnets"]
            refusals += _refusals(aws, plan, group, subnets)
            if remaining[plan.arn] < 0:
                refusals.append(
                    f"Training plan {plan.name} has {plan.offering.count} instances, which are "
                    f"{-remaining[plan.arn]} fewer than instance groups ask for"
                )
        if refusals:
            raise ServiceError("ValidationException", "; ".join(refusals))


def _offerings(aws: Clients, given: Mapping[str, Any]) -> Iterator[Offering]:
    server = given.get("UltraServerType")
    if server:
        kind, size = _ULTRA_SERVERS.get(server, ("", 0))
        count = size * given.get("UltraServerCount", 1)
    else:
        kind, count = given.get("InstanceType", ""), given.get("InstanceCount", 1)
    hours = given.get("DurationHours", _DEFAULT_HOURS)
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    begins_at = max(utc(given.get("StartTimeAfter", now)), now)
    targets = tuple(given.get("TargetResources", _TARGETS))
    end = given.get("EndTimeBefore")
    if not kind or (end is not None and begins_at + timedelta(hours=hours) > utc(end)):
        return
    for zone in aws.ec2.describe_availability_zones()["AvailabilityZones"]:
        yield Offering(
            id=_id("tpo", (kind, count, zone["ZoneId"], begins_at, hours, targets)),
            instance_type=kind,
            count=count,
            zone=zone["ZoneName"],
            zone_id=zone["ZoneId"],
            begins_at=begins_at,
            hours=hours,
            targets=targets,
            server=server,
        )


def _id(prefix: str, what: object) -> str:
    """Return an id that is stable for the same search, as AWS's ids are hashes."""
    return f"{prefix}-{hashlib.sha256(repr(what).encode()).hexdigest()}"


def _is_allowed(hours: int) -> bool:
    """Return whether a plan can be extended by this: days up to 14, weeks up to 182 days."""
    days = hours % _DAY_HOURS == 0 and hours <= _MOST_SINGLE_DAYS_HOURS
    return days or (hours % _WEEK_HOURS == 0 and hours <= _MOST_EXTENSION_HOURS)


def _refusals(
    aws: Clients, plan: TrainingPlan, group: Mapping[str, Any], subnets: list[str]
) -> Iterator[str]:
    name, offering = group["InstanceGroupName"], plan.offering
    if HYPERPOD not in offering.targets:
        yield f"Training plan {plan.name} is not for HyperPod clusters"
    if plan.has_ended:
        yield f"Training plan {plan.name} has expired"
    if group.get("InstanceType") != offering.instance_type:
        yield (
            f"Instance group {name} has {group.get('InstanceType', 'several types')}, training "
            f"plan {plan.name} {offering.instance_type}"
        )
    found = aws.ec2.describe_subnets(SubnetIds=subnets)["Subnets"]
    zones = sorted({subnet["AvailabilityZone"] for subnet in found})
    if offering.zone not in zones:
        yield (
            f"Instance group {name} has subnets in {', '.join(zones)}, the capacity of training "
            f"plan {plan.name} is in {offering.zone}"
        )
