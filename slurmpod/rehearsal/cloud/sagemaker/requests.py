"""From a CreateCluster request to a cluster's groups. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.constraints import summary, violations
from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.platform import InstanceGroup, LifeCycleConfig, VpcConfig
from slurmpod.rehearsal.cloud.sagemaker.rules import refusals

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_request(request: Mapping[str, Any]) -> None:
    """Raise ValidationException with everything that is wrong with a CreateCluster request."""
    problems = violations("sagemaker", "CreateCluster", request)
    if problems:
        raise ServiceError("ValidationException", summary(problems))
    reasons = refusals(request)
    if reasons:
        raise ServiceError("ValidationException", "; ".join(reasons))


def read_groups(request: Mapping[str, Any]) -> tuple[InstanceGroup, ...]:
    """Return the groups of a request that was checked."""
    return tuple(_group(group, request["VpcConfig"]) for group in request["InstanceGroups"])


def read_vpc_config(given: Mapping[str, Any]) -> VpcConfig:
    """Return a VpcConfig or OverrideVpcConfig."""
    return VpcConfig(
        security_group_ids=tuple(given["SecurityGroupIds"]), subnet_ids=tuple(given["Subnets"])
    )


def _group(given: Mapping[str, Any], cluster_vpc: Mapping[str, Any]) -> InstanceGroup:
    requirements = given.get("InstanceRequirements", {}).get("InstanceTypes", [""])
    return InstanceGroup(
        name=given["InstanceGroupName"],
        instance_type=given.get("InstanceType", requirements[0]),
        instance_count=given["InstanceCount"],
        execution_role_arn=given["ExecutionRole"],
        threads_per_core=given.get("ThreadsPerCore"),
        lifecycle=_lifecycle(given.get("LifeCycleConfig")),
        vpc_config=read_vpc_config(given.get("OverrideVpcConfig", cluster_vpc)),
        request=given,
    )


def _lifecycle(given: Mapping[str, Any] | None) -> LifeCycleConfig | None:
    if given is None:
        return None
    return LifeCycleConfig(
        source_s3_uri=given["SourceS3Uri"],
        on_create=given.get("OnCreate"),
        on_init_complete=given.get("OnInitComplete"),
    )
