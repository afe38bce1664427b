"""What a new file system needs around it: subnet, security groups, key, log group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from slurmpod.rehearsal.cloud.fsx.lustre import Lustre
from slurmpod.rehearsal.cloud.fsx.network_rules import lustre_network_refusals, network_refusals
from slurmpod.rehearsal.cloud.fsx.refusals import bad_request, raise_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.clients import Clients

_LOG_GROUPS = "/aws/fsx"
"""How the names of log groups begin that FSx may write to (API reference)."""


def check_surroundings(aws: Clients, request: Mapping[str, Any]) -> str:
    """Return the id of the VPC of a file system that can be created.

    Raises what FSx answers when it cannot; EC2's own error for what does not exist.
    """
    (subnet,) = aws.ec2.describe_subnets(SubnetIds=list(request["SubnetIds"]))["Subnets"]
    groups = _security_groups(aws, request, subnet["VpcId"])
    refusals = [*network_refusals(subnet, groups)]
    if request["FileSystemType"] == "LUSTRE":
        efa = Lustre.of(request).has_efa
        refusals += lustre_network_refusals(subnet, groups, efa=efa)
    raise_all(refusals)
    _require_key(aws, request.get("KmsKeyId"))
    _require_log_group(aws, request.get("LustreConfiguration", {}).get("LogConfiguration", {}))
    return subnet["VpcId"]


def _security_groups(aws: Clients, request: Mapping[str, Any], vpc_id: str) -> list[Any]:
    if request.get("SecurityGroupIds"):
        wanted = list(request["SecurityGroupIds"])
        return aws.ec2.describe_security_groups(GroupIds=wanted)["SecurityGroups"]
    return aws.ec2.describe_security_groups(
        Filters=[
            {"Name": "vpc-id", "Values": [vpc_id]},
            {"Name": "group-name", "Values": ["default"]},
        ]
    )["SecurityGroups"]


def _require_key(aws: Clients, key_id: str | None) -> None:
    if key_id is None:
        return
    try:
        aws.service("kms").describe_key(KeyId=key_id)
    except ClientError as error:
        raise bad_request(f"KmsKeyId {key_id}: {error.response['Error']['Message']}") from error


def _require_log_group(aws: Clients, configuration: Mapping[str, Any]) -> None:
    destination = configuration.get("Destination")
    if destination is None:
        return
    name = destination.removesuffix(":*").rpartition(":")[2]
    groups = aws.logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    if configuration.get("Level") == "DISABLED":
        raise bad_request("Destination of the logs cannot be specified with Level DISABLED")
    if not name.startswith(_LOG_GROUPS) or name not in [g["logGroupName"] for g in groups]:
        raise bad_request(
            f"The log group {name} does not exist, or its name does not begin with {_LOG_GROUPS}"
        )
