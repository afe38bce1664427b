"""Actions on the resources of a call, by their ARNs in IAM.

A form has the members of the input in braces, and `partition`, `region` and `account`; after a bar
follows the kind of resource whose ARN `Names` looks up. A list gives one resource per entry. Forms
are those of the service authorization reference. Calls that are in neither table, or give none of
the members, are about `*`. S3's actions have different names from its operations (S3 user guide,
"Required permissions for Amazon S3 API operations").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol
from urllib.parse import unquote

from moto.iam.models import iam_backends
from moto.kms.models import kms_backends
from moto.s3.models import s3_backends
from moto.secretsmanager.models import secretsmanager_backends
from moto.sns.models import sns_backends

from embedded_aws.calls import Call
from embedded_aws.sagemaker.clusters import Clusters

OWN_KEY_PREFIX = "alias/aws/"
"""AWS managed keys: anyone who may use the service may use them through it."""


class Sessions(Protocol):
    """The sessions of Session Manager."""

    def tags(self, session_id: str) -> Mapping[str, str]:
        """Return the tags `session-id` and `target-id` of a session, empty if it is unknown."""


class Names:
    """The named resources of one account of the embedded AWS."""

    def __init__(
        self,
        account: str,
        partition: str,
        *,
        clusters: Clusters,
        sessions: Sessions,
    ) -> None:
        self.account = account
        self.partition = partition
        self.sessions = sessions
        self._clusters = clusters
        self._kinds: Mapping[str, Callable[[str, str], str]] = {
            "": lambda _, name: name,
            "cluster": self._cluster,
            "function": self._function,
            "key": self.key,
            "parameter": lambda _, name: name.strip("/"),
            "role": self._role,
            "secret": self._secret,
            "stack": self._stack,
            "user": self._user,
        }

    def of(self, kind: str, region: str, name: str) -> str:
        """Return the ARN, or a part of it, of a resource; an empty kind returns the name."""
        return self._kinds[kind](region, name)

    def key(self, region: str, name: str) -> str:
        """Return the ARN of a KMS key by id, alias or ARN."""
        backend = kms_backends[self.account][region]
        key_id = backend.any_id_to_key_id(name)
        return f"arn:{self.partition}:kms:{region}:{self.account}:key/{key_id}"

    def secret(self, region: str, name: str) -> Any:
        """Return moto's secret by name or ARN, or None."""
        return secretsmanager_backends[self.account][region].secrets.get(name)

    def bucket(self, name: str) -> Any:
        """Return moto's bucket, or None."""
        return s3_backends[self.account][self.partition].buckets.get(name)

    def topic(self, arn: str) -> Any:
        """Return moto's topic, or None."""
        region = arn.split(":")[3] if arn.count(":") else ""
        return sns_backends[self.account][region].topics.get(arn) if region else None

    def policy_of(self, arn: str) -> str | None:
        """Return the policy of a bucket, of an object's bucket, of a secret, a key or a role."""
        parts = arn.split(":", 5)
        service = parts[2] if len(parts) > 1 else ""
        if service == "s3":
            policy = getattr(self.bucket(parts[5].partition("/")[0]), "policy", None)
            return policy.decode() if policy else None
        if service == "secretsmanager":
            return getattr(self.secret(parts[3], arn), "policy", None)
        if service == "kms":
            key = kms_backends[self.account][parts[3]].keys.get(arn.rpartition("/")[2])
            return str(key.policy) if key else None
        if service == "iam":
            roles = list(self._iam.roles.values())
            return next((r.assume_role_policy_document for r in roles if r.arn == arn), None)
        return None

    def _cluster(self, region: str, name: str) -> str:
        if name.startswith("arn:"):
            return name
        for cluster in self._clusters.all(region):
            if cluster.name == name:
                return cluster.arn
        return f"arn:{self.partition}:sagemaker:{region}:{self.account}:cluster/{name}"

    def _function(self, region: str, name: str) -> str:
        if name.startswith("arn:"):
            return name
        own = name.removeprefix(f"{self.account}:function:")
        return f"arn:{self.partition}:lambda:{region}:{self.account}:function:{own}"

    def _role(self, _: str, name: str) -> str:
        found = (role.arn for role in list(self._iam.roles.values()) if role.name == name)
        return next(found, f"arn:{self.partition}:iam::{self.account}:role/{name}")

    def _secret(self, region: str, name: str) -> str:
        found = self.secret(region, name)
        if found is not None:
            return str(found.arn)
        if name.startswith("arn:"):
            return name
        return f"arn:{self.partition}:secretsmanager:{region}:{self.account}:secret:{name}"

    def _stack(self, region: str, name: str) -> str:
        if name.startswith("arn:"):
            return name
        return f"arn:{self.partition}:cloudformation:{region}:{self.account}:stack/{name}/*"

    def _user(self, _: str, name: str) -> str:
        found = self._iam.users.get(name)
        return str(found.arn) if found else f"arn:{self.partition}:iam::{self.account}:user/{name}"

    @property
    def _iam(self) -> Any:
        return iam_backends[self.account][self.partition]


@dataclass(frozen=True)
class Need:
    """An action that must be allowed; `resource` is an ARN or `*`."""

    action: str
    resource: str
    context: Mapping[str, str | Sequence[str]]


EVERYTHING = "*"

_EC2 = "arn:{partition}:ec2:{region}:{account}"
_LOGS = "arn:{partition}:logs:{region}:{account}:log-group"
_SSM = "arn:{partition}:ssm:{region}:{account}"

FIRST_FITTING: Mapping[str, Sequence[str]] = {
    "aps": ("arn:{partition}:aps:{region}:{account}:workspace/{workspaceId}",),
    "cloudformation": ("{StackName|stack}",),
    "ecr": ("arn:{partition}:ecr:{region}:{account}:repository/{repositoryName}",),
    "fsx": (
        "arn:{partition}:fsx:{region}:{account}:file-system/{FileSystemId}",
        "{ResourceARN}",
    ),
    "iam": (
        "arn:{partition}:iam::{account}:role{Path}{RoleName}",
        "{RoleName|role}",
        "arn:{partition}:iam::{account}:user{Path}{UserName}",
        "{UserName|user}",
        "{PolicyArn}",
    ),
    "kms": ("{KeyId|key}",),
    "lambda": ("{FunctionName|function}",),
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
"""By service: the first form whose members are in the input gives the call's resource."""

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
"""By action: each form gives a resource of the call, unless the input lacks a member."""

_MEMBER = re.compile(r"\{(\w+)(?:\|(\w+))?\}")


def resources_of(call: Call, names: Names) -> tuple[str, ...]:
    """Return the ARNs of a call's resources, `*` if IAM defines none."""
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


ACTIONS: Mapping[str, str] = {
    "CompleteMultipartUpload": "PutObject",
    "CreateMultipartUpload": "PutObject",
    "DeleteBucketCors": "PutBucketCORS",
    "DeleteBucketEncryption": "PutEncryptionConfiguration",
    "DeleteBucketLifecycle": "PutLifecycleConfiguration",
    "DeleteBucketReplication": "PutReplicationConfiguration",
    "DeleteBucketTagging": "PutBucketTagging",
    "DeletePublicAccessBlock": "PutBucketPublicAccessBlock",
    "GetBucketAccelerateConfiguration": "GetAccelerateConfiguration",
    "GetBucketCors": "GetBucketCORS",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "GetBucketNotificationConfiguration": "GetBucketNotification",
    "GetBucketReplication": "GetReplicationConfiguration",
    "GetObjectLockConfiguration": "GetBucketObjectLockConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "HeadBucket": "ListBucket",
    "HeadObject": "GetObject",
    "ListBuckets": "ListAllMyBuckets",
    "ListMultipartUploads": "ListBucketMultipartUploads",
    "ListObjectVersions": "ListBucketVersions",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "ListParts": "ListMultipartUploadParts",
    "PutBucketAccelerateConfiguration": "PutAccelerateConfiguration",
    "PutBucketCors": "PutBucketCORS",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
    "PutBucketNotificationConfiguration": "PutBucketNotification",
    "PutBucketReplication": "PutReplicationConfiguration",
    "PutObjectLockConfiguration": "PutBucketObjectLockConfiguration",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    "SelectObjectContent": "GetObject",
    "UploadPart": "PutObject",
}
"""By operation; all others have an action of the same name."""

_OF_VERSIONS = frozenset({"DeleteObject", "GetObject"})
_CONTEXT = {
    "s3:delimiter": "Delimiter",
    "s3:max-keys": "MaxKeys",
    "s3:prefix": "Prefix",
    "s3:x-amz-server-side-encryption": "ServerSideEncryption",
    "s3:x-amz-server-side-encryption-aws-kms-key-id": "SSEKMSKeyId",
}


def s3_needs(call: Call, names: Names) -> Iterator[Need]:
    """Yield the actions on buckets and objects that an S3 call needs."""
    given, context = call.given, _context(call, names)
    bucket = given.get("Bucket")
    if call.operation == "DeleteObjects":
        for entry in given.get("Delete", {}).get("Objects", []):
            yield _object("DeleteObject", bucket, entry, names, context)
        return
    if call.operation in ("CopyObject", "UploadPartCopy"):
        yield _object("GetObject", *_source(given), names, context)
        yield _object("PutObject", bucket, given, names, context)
        return
    action = ACTIONS.get(call.operation, call.operation)
    if given.get("Key"):
        yield _object(action, bucket, given, names, context)
    else:
        resource = f"arn:{names.partition}:s3:::{bucket}" if bucket else "*"
        yield Need(f"s3:{action}", resource, context)


def _object(
    action: str,
    bucket: str | None,
    entry: Mapping[str, Any],
    names: Names,
    context: Mapping[str, str],
) -> Need:
    versioned = entry.get("VersionId") and action in _OF_VERSIONS
    return Need(
        f"s3:{action}{'Version' if versioned else ''}",
        f"arn:{names.partition}:s3:::{bucket}/{entry['Key']}",
        context,
    )


def _source(given: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    path, _, version = str(given["CopySource"]).partition("?versionId=")
    bucket, _, key = unquote(path).lstrip("/").partition("/")
    return bucket, {"Key": key, "VersionId": version}


def _context(call: Call, names: Names) -> dict[str, str]:
    given = {key: call.given.get(member) for key, member in _CONTEXT.items()}
    present = {key: str(value) for key, value in given.items() if value is not None}
    return {**present, "s3:ResourceAccount": names.account}
