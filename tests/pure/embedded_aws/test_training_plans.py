"""A training plan that ends before its time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from embedded_aws.sagemaker.training_plans import TrainingPlans

ZONES = {"AvailabilityZones": [{"ZoneName": "us-west-2a", "ZoneId": "usw2-az2"}]}
ARN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/june"


def test_a_plan_that_is_cut_has_ended_until_it_is_not_cut_any_more() -> None:
    cut: set[str] = set()
    ec2 = SimpleNamespace(describe_availability_zones=lambda: ZONES)
    aws: Any = SimpleNamespace(region="us-west-2", ec2=ec2, arn=lambda *_: ARN)
    plans = TrainingPlans(cut.__contains__)
    (offering,) = plans.offer(aws, {"InstanceType": "ml.p5.48xlarge"})
    planned = plans.reserve(aws, "june", offering.id).ends_at

    cut.add(ARN)
    ended = plans.find("us-west-2", "june")
    assert (ended.has_ended, ended.ends_at < planned) == (True, True)
    assert plans.find("us-west-2", "june").ends_at == ended.ends_at
    cut.clear()
    again = plans.find("us-west-2", "june")
    assert (again.status, again.ends_at) == ("Active", planned)
