"""Training plans of SageMaker: searching, listing and buying.

Source: API reference, SearchTrainingPlanOfferings, CreateTrainingPlan, ListTrainingPlans,
ExtendTrainingPlan and DescribeTrainingPlanExtensionHistory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable

HYPERPOD = "hyperpod-cluster"


@dataclass(frozen=True)
class Fee:
    """The upfront price; `amount` is None if AWS does not report it."""

    amount: Decimal | None
    currency: str

    @property
    def text(self) -> str:
        """Return the amount with its currency."""
        if self.amount is None:
            return "price not reported"
        return f"{self.amount:,.2f} {self.currency}".rstrip()


@dataclass(frozen=True)
class Wanted:
    """A search request; `days` are the durations to search for.

    `servers` are the UltraServer types with such nodes, with the number of servers for that many
    nodes: if there are any, each is searched for instead of nodes.
    """

    instance_type: str
    nodes: int
    days: int
    starts_after: datetime | None = None
    ends_before: datetime | None = None
    servers: Mapping[str, int] = field(default_factory=dict)

    @property
    def kinds(self) -> Sequence[Mapping[str, Any]]:
        """Return the parameters of SearchTrainingPlanOfferings for each search."""
        servers = self.servers.items()
        return [
            {"UltraServerType": name, "UltraServerCount": count} for name, count in servers
        ] or [{"InstanceType": self.instance_type, "InstanceCount": self.nodes}]


@dataclass(frozen=True)
class Part:
    """A period in which a plan has its nodes, and their zone; between two parts it has none."""

    zone: str
    starts: datetime | None
    ends: datetime | None


@dataclass(frozen=True)
class Offer:
    """A plan that can be bought now."""

    id: str
    instance_type: str
    nodes: int
    hours: int
    fee: Fee
    parts: tuple[Part, ...]
    server: str = ""
    """The UltraServer type of its nodes, if any."""


@dataclass(frozen=True)
class Prolongation:
    """An extension of a plan: offered, or bought with its `status` and `payment` status."""

    id: str
    zone: str
    starts: datetime | None
    ends: datetime | None
    hours: int
    fee: Fee
    status: str = ""
    payment: str = ""


@dataclass(frozen=True)
class Plan:
    """A training plan of the account in the Region."""

    name: str
    arn: str
    status: str
    message: str
    instance_type: str
    zone: str
    nodes: int
    in_use: int
    starts: datetime | None
    ends: datetime | None
    targets: tuple[str, ...]


@dataclass(frozen=True)
class TrainingPlans:
    """The plans of one account and Region; each method raises AwsUnavailable."""

    clients: AwsClients

    def offers(self, wanted: Wanted) -> tuple[Offer, ...]:
        """Return the plans that HyperPod can use now, in AWS's order."""
        asked: dict[str, Any] = {
            "DurationHours": wanted.days * 24,
            "TargetResources": [HYPERPOD],
        }
        if wanted.starts_after:
            asked["StartTimeAfter"] = wanted.starts_after
        if wanted.ends_before:
            asked["EndTimeBefore"] = wanted.ends_before
        with as_unavailable("search training plans"):
            found = [
                offer
                for kind in wanted.kinds
                for offer in self._sagemaker.search_training_plan_offerings(**kind, **asked)[
                    "TrainingPlanOfferings"
                ]
            ]
        return tuple(map(_offer, found))

    def buy(self, name: str, offer_id: str, tags: Mapping[str, str]) -> str:
        """Buy a plan and return its ARN. A purchase cannot be undone."""
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        with as_unavailable(f"buy the training plan {name}"):
            arn: str = self._sagemaker.create_training_plan(
                TrainingPlanName=name, TrainingPlanOfferingId=offer_id, Tags=listed
            )["TrainingPlanArn"]
        return arn

    def all(self) -> tuple[Plan, ...]:
        """Return all plans, including those that have ended."""
        with as_unavailable("list the training plans"):
            pages = self._sagemaker.get_paginator("list_training_plans").paginate()
            found = [plan for page in pages for plan in page["TrainingPlanSummaries"]]
        return tuple(map(_plan, found))

    def prolongations(self, arn: str, days: int) -> tuple[Prolongation, ...]:
        """Return the offers to extend a plan by this many days."""
        with as_unavailable("search extensions of the training plan"):
            found = self._sagemaker.search_training_plan_offerings(
                TrainingPlanArn=arn, DurationHours=days * 24, TargetResources=[HYPERPOD]
            )
        return tuple(map(_prolongation, found.get("TrainingPlanExtensionOfferings", ())))

    def extend(self, offer_id: str) -> tuple[Prolongation, ...]:
        """Extend a plan; return all of its extensions, including this one."""
        with as_unavailable("extend the training plan"):
            found = self._sagemaker.extend_training_plan(TrainingPlanExtensionOfferingId=offer_id)
        return tuple(map(_prolongation, found["TrainingPlanExtensions"]))

    def history(self, arn: str) -> tuple[Prolongation, ...]:
        """Return the extensions of a plan."""
        with as_unavailable("list the extensions of the training plan"):
            found = self._sagemaker.describe_training_plan_extension_history(TrainingPlanArn=arn)
        return tuple(map(_prolongation, found["TrainingPlanExtensions"]))

    @property
    def _sagemaker(self) -> Any:
        return self.clients.sagemaker


def _fee(found: Mapping[str, Any]) -> Fee:
    try:
        amount = Decimal(found["UpfrontFee"])
    except (KeyError, InvalidOperation):
        amount = None
    return Fee(amount, found.get("CurrencyCode", ""))


def _offer(found: Mapping[str, Any]) -> Offer:
    parts: Sequence[Any] = found.get("ReservedCapacityOfferings", ())
    return Offer(
        id=found["TrainingPlanOfferingId"],
        instance_type=parts[0]["InstanceType"] if parts else "",
        nodes=parts[0]["InstanceCount"] if parts else 0,
        hours=found.get("DurationHours", 0),
        fee=_fee(found),
        parts=tuple(
            Part(each.get("AvailabilityZone", ""), each.get("StartTime"), each.get("EndTime"))
            for each in parts
        ),
        server=parts[0].get("UltraServerType", "") if parts else "",
    )


def _prolongation(found: Mapping[str, Any]) -> Prolongation:
    return Prolongation(
        id=found["TrainingPlanExtensionOfferingId"],
        zone=found.get("AvailabilityZone", ""),
        starts=found.get("StartDate"),
        ends=found.get("EndDate"),
        hours=found.get("DurationHours", 0),
        fee=_fee(found),
        status=found.get("Status", ""),
        payment=found.get("PaymentStatus", ""),
    )


def _plan(found: Mapping[str, Any]) -> Plan:
    capacities = found.get("ReservedCapacitySummaries", [])
    first = capacities[0] if capacities else {}
    return Plan(
        name=found["TrainingPlanName"],
        arn=found["TrainingPlanArn"],
        status=found["Status"],
        message=found.get("StatusMessage", ""),
        instance_type=first.get("InstanceType", ""),
        zone=first.get("AvailabilityZone", ""),
        nodes=found.get("TotalInstanceCount", 0),
        in_use=found.get("InUseInstanceCount", 0),
        starts=found.get("StartTime"),
        ends=found.get("EndTime"),
        targets=tuple(found.get("TargetResources", ())),
    )
