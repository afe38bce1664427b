"""What a call is about: how its input names the resource that IAM knows by an ARN.

A form has the members of the input in braces, and `partition`, `region` and `account`; after a bar
stands what turns a name into an ARN (see `names`). A list gives one resource per entry. Forms are
those of the service authorization reference. Calls that are in neither table, or give none of the
members, are about `*`.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slurmpod.rehearsal.cloud.enforcement.calls import Call
    from slurmpod.rehearsal.cloud.enforcement.names import Names

EVERYTHING = "*"

_EC2 = "arn:{partition}:ec2:{region}:{account}"
_LOGS = "arn:{partition}:logs:{region}:{account}:log-group"
_SSM = "arn:{partition}:ssm:{region}:{account}"

FIRST_FITTING: Mapping[str, Sequence[str]] = {
    "aps": ("arn:{partition}:aps:{region}:{account}:workspace/{workspaceId}",),
    "cloudformation": ("arn:{partition}:cloudformation:{region}:{account}:stack/{StackName}/*",),
    "ecr": ("arn:{partition}:ecr:{region}:{account}:repository/{repositoryName}",),
    "fsx": (
        "arn:{partition}:fsx:{region}:{account}:file-system/{FileSystemId}",
        "{ResourceARN}",
    ),
    "iam": (
        "arn:{partition}:iam::{account}:role/{RoleName}",
        "arn:{partition}:iam::{account}:user/{UserName}",
        "{PolicyArn}",
    ),
    "kms": ("{KeyId|key}",),
    "lambda": ("arn:{partition}:lambda:{region}:{account}:function:{FunctionName}",),
    "logs": (
        f"{_LOGS}:{{logGroupName}}:log-stream:{{logStreamName}}",
        f"{_LOGS}:{{logGroupName}}:log-stream:",
        f"{_LOGS}::log-stream:",
    ),
    "rds": ("arn:{partition}:rds:{region}:{account}:db:{DBInstanceIdentifier}",),
    "sagemaker": ("{ClusterName|cluster}", "{ResourceArn}"),
    "secretsmanager": ("{SecretId|secret}",),
    "sns": (
        "{TopicArn}",
        "{ResourceArn}",
        "arn:{partition}:sns:{region}:{account}:{Name}",
    ),
    "sts": ("{RoleArn}",),
}
"""By service: the first form whose members the input has is the call's resource."""

ALL_OF: Mapping[str, Sequence[str]] = {
    "cloudwatch:DescribeAlarms": ("arn:{partition}:cloudwatch:{region}:{account}:alarm:*",),
    "ec2:CreateNetworkInterface": (
        f"{_EC2}:network-interface/*",
        f"{_EC2}:subnet/{{SubnetId}}",
        f"{_EC2}:security-group/{{Groups}}",
    ),
    "ec2:CreateNetworkInterfacePermission": (f"{_EC2}:network-interface/{{NetworkInterfaceId}}",),
    "ec2:DeleteNetworkInterface": (f"{_EC2}:network-interface/{{NetworkInterfaceId}}",),
    "ec2:DeleteNetworkInterfacePermission": (f"{_EC2}:network-interface/*",),
    "ec2:DetachNetworkInterface": (f"{_EC2}:instance/*", f"{_EC2}:network-interface/*"),
    "ssm:GetDocument": (f"{_SSM}:document/{{Name}}",),
    "ssm:GetParameter": (f"{_SSM}:parameter/{{Name|parameter}}",),
    "ssm:GetParameters": (f"{_SSM}:parameter/{{Names|parameter}}",),
    "ssm:GetParametersByPath": (f"{_SSM}:parameter/{{Path|parameter}}",),
    "ssm:ResumeSession": (f"{_SSM}:session/{{SessionId}}",),
    "ssm:SendCommand": (f"{_SSM}:document/{{DocumentName}}", f"{_EC2}:instance/{{InstanceIds}}"),
    "ssm:TerminateSession": (f"{_SSM}:session/{{SessionId}}",),
}
"""By action: each of these is a resource of the call, but for those that lack a member."""

_MEMBER = re.compile(r"\{(\w+)(?:\|(\w+))?\}")


def resources_of(call: Call, names: Names) -> tuple[str, ...]:
    """Return the ARNs that a call is about, `*` where IAM knows none."""
    action = f"{call.service}:{call.operation}"
    if action in ALL_OF:
        found = [arn for form in ALL_OF[action] for arn in _filled(form, call, names)]
        return tuple(found) or (EVERYTHING,)
    for form in FIRST_FITTING.get(call.service, ()):
        found = list(_filled(form, call, names))
        if found:
            return tuple(found)
    return (EVERYTHING,)


def _filled(form: str, call: Call, names: Names) -> Iterator[str]:
    members = _MEMBER.findall(form)
    known = {"partition": names.partition, "region": call.region, "account": names.account}
    choices = [
        [names.of(kind, call.region, value) for value in _values(name, known, call.given)]
        for name, kind in members
    ]
    for values in product(*choices):
        remaining = iter(values)
        yield _MEMBER.sub(lambda _, remaining=remaining: next(remaining), form)  # type: ignore[misc]


def _values(name: str, known: Mapping[str, str], given: Mapping[str, Any]) -> Iterable[str]:
    value = known.get(name) or given.get(name)
    if not value:
        return []
    return value if isinstance(value, list) else [value]
