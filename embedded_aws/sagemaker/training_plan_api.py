"""The operations on training plans, in the shapes of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.sagemaker.describe import Entry, list_page
from embedded_aws.sagemaker.training_plans import (
    Extension,
    Offering,
    Shape,
    TrainingPlan,
    TrainingPlans,
)

_USD_PER_INSTANCE_HOUR = 10
"""A fictitious price: only AWS's own searches return real prices."""


class TrainingPlanApi:
    """The operations; `used` returns the number of instances in use by plan in a Region."""

    def __init__(
        self,
        plans: TrainingPlans,
        clients: Callable[[str], Clients],
        used: Callable[[str], Mapping[str, int]],
    ) -> None:
        self._plans = plans
        self._clients = clients
        self._used = used

    def search(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer SearchTrainingPlanOfferings."""
        if "TrainingPlanArn" in given:
            extensions = self._plans.offer_extension(region, given)
            return {
                "TrainingPlanOfferings": [],
                "TrainingPlanExtensionOfferings": [_extension_shape(each) for each in extensions],
            }
        found = self._plans.offer(self._clients(region), given)
        return {"TrainingPlanOfferings": [_offering_shape(offering) for offering in found]}

    def create(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer CreateTrainingPlan."""
        name, offering = given["TrainingPlanName"], given["TrainingPlanOfferingId"]
        return {"TrainingPlanArn": self._plans.reserve(self._clients(region), name, offering).arn}

    def extend(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer ExtendTrainingPlan."""
        plan = self._plans.extend(region, given["TrainingPlanExtensionOfferingId"])
        return {"TrainingPlanExtensions": _bought(plan)}

    def describe(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer DescribeTrainingPlan."""
        plan = self._plans.find(region, given["TrainingPlanName"])
        return self._plan_shape(region, plan)

    def summaries(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer ListTrainingPlans."""
        wanted = {each["Value"] for each in given.get("Filters", [])}
        entries = [
            Entry(plan.name, plan.offering.begins_at, self._plan_shape(region, plan))
            for plan in self._plans.all(region)
            if not wanted or wanted == {plan.status}
        ]
        page, token = list_page(entries, _as_asked(given))
        return {"TrainingPlanSummaries": page, "NextToken": token}

    def describe_capacity(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer DescribeReservedCapacity."""
        plan = self._plans.find(region, given["ReservedCapacityArn"])
        used = self._used(region).get(plan.arn, 0)
        shape = {
            **_capacity_shape(plan),
            "AvailableInstanceCount": plan.offering.count - used,
            "InUseInstanceCount": used,
        }
        if plan.offering.server:
            shape["UltraServerSummary"] = {
                "UltraServerType": plan.offering.server,
                "InstanceType": plan.offering.instance_type,
                "UltraServerCount": plan.offering.server_count,
            }
        outside = ("UltraServerType", "UltraServerCount")  # they are in the summary
        return {name: value for name, value in shape.items() if name not in outside}

    def history(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer DescribeTrainingPlanExtensionHistory."""
        plan = self._plans.find(region, given["TrainingPlanArn"])
        return {"TrainingPlanExtensions": _bought(plan)}

    def _plan_shape(self, region: str, plan: TrainingPlan) -> Shape:
        used = self._used(region).get(plan.arn, 0)
        return {
            "TrainingPlanArn": plan.arn,
            "TrainingPlanName": plan.name,
            "Status": plan.status,
            **_plan_times(plan),
            **_fee(plan.offering.count, plan.offering.hours),
            "TotalInstanceCount": plan.offering.count,
            "AvailableInstanceCount": plan.offering.count - used,
            "InUseInstanceCount": used,
            "TotalUltraServerCount": plan.offering.server_count,
            "TargetResources": list(plan.offering.targets),
            "ReservedCapacitySummaries": [
                {**_capacity_shape(plan), "AvailabilityZoneId": plan.offering.zone_id}
            ],
        }


def _as_asked(given: Mapping[str, Any]) -> Shape:
    """Return the sort order and filters of plans, under the names of other list operations."""
    return {
        **given,
        "SortBy": "NAME" if given.get("SortBy") == "TrainingPlanName" else "CREATION_TIME",
        "CreationTimeAfter": given.get("StartTimeAfter"),
        "CreationTimeBefore": given.get("StartTimeBefore"),
    }


def _offering_shape(offering: Offering) -> Shape:
    capacity = {
        **_kind_shape(offering),
        "InstanceCount": offering.count,
        "AvailabilityZone": offering.zone,
        **_time_shape(offering),
    }
    return {
        "TrainingPlanOfferingId": offering.id,
        "TargetResources": list(offering.targets),
        "RequestedStartTimeAfter": offering.begins_at,
        "DurationHours": offering.hours,
        "DurationMinutes": 0,
        **_fee(offering.count, offering.hours),
        "ReservedCapacityOfferings": [capacity],
    }


def _extension_shape(extension: Extension) -> Shape:
    return {
        "TrainingPlanExtensionOfferingId": extension.id,
        "AvailabilityZone": extension.zone,
        "StartDate": extension.begins_at,
        "EndDate": extension.ends_at,
        "DurationHours": extension.hours,
        **_fee(extension.count, extension.hours),
    }


def _bought(plan: TrainingPlan) -> list[Shape]:
    """Return the extensions of a plan, newest first."""
    return [
        {
            **_extension_shape(extension),
            "ExtendedAt": bought_at,
            "Status": "Active" if plan.status == "Active" else "Scheduled",
            "PaymentStatus": "Paid",
            "AvailabilityZoneId": extension.zone_id,
        }
        for bought_at, extension in reversed(plan.extensions)
    ]


def _capacity_shape(plan: TrainingPlan) -> Shape:
    return {
        "ReservedCapacityArn": plan.capacity_arn,
        **_kind_shape(plan.offering),
        "TotalInstanceCount": plan.offering.count,
        "Status": plan.status,
        "AvailabilityZone": plan.offering.zone,
        **_plan_times(plan),
    }


def _kind_shape(offering: Offering) -> Shape:
    return {
        "ReservedCapacityType": "UltraServer" if offering.server else "Instance",
        "UltraServerType": offering.server,
        "UltraServerCount": offering.server_count,
        "InstanceType": offering.instance_type,
    }


def _time_shape(offering: Offering) -> Shape:
    return {
        "DurationHours": offering.hours,
        "DurationMinutes": 0,
        "StartTime": offering.begins_at,
        "EndTime": offering.ends_at,
    }


def _plan_times(plan: TrainingPlan) -> Shape:
    """Return start, end and duration of a plan, including its extensions."""
    more = sum(extension.hours for _, extension in plan.extensions)
    times = _time_shape(plan.offering)
    return {**times, "DurationHours": plan.offering.hours + more, "EndTime": plan.ends_at}


def _fee(count: int, hours: int) -> Shape:
    return {"UpfrontFee": f"{count * hours * _USD_PER_INSTANCE_HOUR:.2f}", "CurrencyCode": "USD"}
