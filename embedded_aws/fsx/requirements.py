"""Requirements of a new file system: subnet, security groups, key, log group.

The message about port 988 is from many public reports; the condition is that of the FSx for
Lustre user guide, "File system access control with Amazon VPC": the servers reach each other
through the security group itself or the subnet's addresses. Outgoing rules, ports 1018 to 1023 and
network ACLs are not checked. With EFA the group must allow all traffic to and from itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError
from embedded_aws.fsx.lustre import Lustre
from embedded_aws.fsx.refusals import bad_request, raise_all

_LOG_GROUPS = "/aws/fsx"
"""Prefix of the log groups that FSx may write to (API reference)."""


def check_requirements(aws: Clients, request: Mapping[str, Any]) -> str:
    """Return the VPC id of a file system if it can be created.

    Otherwise raises FSx's error, or EC2's if a subnet or security group does not exist.
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


_LUSTRE_PORT = 988
Groups = list[Any]
"""Security groups as described by EC2."""


def network_refusals(subnet: Mapping[str, Any], groups: Groups) -> Iterator[ServiceError]:
    """Yield why a file system cannot be in the subnet with these security groups."""
    for group in groups:
        if group["VpcId"] != subnet["VpcId"]:
            yield _invalid(
                f"Security group {group['GroupId']} is in {group['VpcId']}, but subnet "
                f"{subnet['SubnetId']} in {subnet['VpcId']}"
            )


def lustre_network_refusals(
    subnet: Mapping[str, Any], groups: Groups, *, efa: bool
) -> Iterator[ServiceError]:
    """Yield why the servers of a Lustre file system could not reach each other."""
    own = {group["GroupId"] for group in groups}
    cidr = IPv4Network(subnet["CidrBlock"])
    if not any(
        _opens_lustre(permission) and _reaches(permission, own, cidr)
        for group in groups
        for permission in group["IpPermissions"]
    ):
        yield _invalid(
            "The file system cannot be created because the default security group in the subnet "
            "provided or the provided security groups do not permit Lustre LNET network traffic "
            "on port 988"
        )
    if efa and not any(_opens_everything_to_itself(group) for group in groups):
        yield _invalid(
            "A file system with EFA needs a security group that allows all inbound and outbound "
            f"traffic to and from itself; {', '.join(sorted(own))} does not"
        )


def _invalid(message: str) -> ServiceError:
    return ServiceError("InvalidNetworkSettings", message)


def _opens_lustre(permission: Mapping[str, Any]) -> bool:
    if permission["IpProtocol"] == "-1":
        return True
    ports = range(permission.get("FromPort", 0), permission.get("ToPort", 65535) + 1)
    return permission["IpProtocol"] in ("tcp", "6") and _LUSTRE_PORT in ports


def _reaches(permission: Mapping[str, Any], own: set[str], cidr: IPv4Network) -> bool:
    ranges = [IPv4Network(item["CidrIp"], strict=False) for item in permission["IpRanges"]]
    return bool(own & _peers(permission)) or any(map(cidr.subnet_of, ranges))


def _opens_everything_to_itself(group: Mapping[str, Any]) -> bool:
    def opens(permissions: Iterable[Mapping[str, Any]]) -> bool:
        return any(
            permission["IpProtocol"] == "-1" and group["GroupId"] in _peers(permission)
            for permission in permissions
        )

    return opens(group["IpPermissions"]) and opens(group["IpPermissionsEgress"])


def _peers(permission: Mapping[str, Any]) -> set[str]:
    return {pair["GroupId"] for pair in permission["UserIdGroupPairs"]}
