"""An API call -> the actions on resources that its caller must be allowed.

Besides the resources of the call, these are the KMS keys that encrypt what it reads or writes: the
caller must be allowed to use them through the service. AWS managed keys need no permission. The
service authorization reference lists no resource for nodes of a HyperPod cluster; sessions need
the cluster and the session document.

Sources: service authorization reference (actions, resource types, condition keys by service); S3
user guide, "Using server-side encryption with AWS KMS keys"; Secrets Manager user guide, "Secret
encryption and decryption"; SNS developer guide, "Data encryption"; Systems Manager user guide,
"Additional sample IAM policies for Session Manager".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from moto.kms.utils import KEY_ID_LEN

from embedded_aws.calls import Call
from embedded_aws.enforcement.resource_needs import (
    OWN_KEY_PREFIX,
    Names,
    Need,
    resources_of,
    s3_needs,
)

ALWAYS_ALLOWED = frozenset({"sts:GetCallerIdentity", "sts:GetSessionToken"})
"""Actions that need no permission and that no policy can deny (STS API reference)."""

_ACTIONS = {"lambda:Invoke": "lambda:InvokeFunction"}
"""Operations whose action has a different name; S3's are in `s3_needs`."""

_SESSIONS = frozenset({"ResumeSession", "StartSession", "TerminateSession"})
_CONTEXT: Mapping[str, Mapping[str, str]] = {
    "cloudwatch:PutMetricData": {"cloudwatch:namespace": "Namespace"},
    "ec2:CreateNetworkInterfacePermission": {"ec2:AuthorizedUser": "AwsAccountId"},
    "secretsmanager:GetSecretValue": {
        "secretsmanager:SecretId": "SecretId",
        "secretsmanager:VersionId": "VersionId",
        "secretsmanager:VersionStage": "VersionStage",
    },
    "sts:AssumeRole": {
        "sts:ExternalId": "ExternalId",
        "sts:RoleSessionName": "RoleSessionName",
    },
}
"""By action: condition keys and the input members that they represent."""


def needs_of(call: Call, names: Names) -> tuple[Need, ...]:
    """Return everything that a call needs; an unknown operation needs `service:*`."""
    if f"{call.service}:{call.operation}" in ALWAYS_ALLOWED:
        return ()
    return (*_of_the_call(call, names), *_passed_roles(call), *key_needs(call, names))


def _of_the_call(call: Call, names: Names) -> Iterator[Need]:
    if call.service == "s3":
        yield from s3_needs(call, names)
    elif call.service == "ssm" and call.operation in _SESSIONS:
        yield from session_needs(call, names)
    else:
        action, context = f"{call.service}:{call.operation or '*'}", _context(call)
        action = _ACTIONS.get(action, action)
        for resource in resources_of(_with_key(call), names):
            yield Need(action, resource, context)


def _with_key(call: Call) -> Call:
    """Return the call with the key that encrypted the ciphertext, which it need not name.

    moto's ciphertexts begin with the id of their key.
    """
    blob = call.given.get("CiphertextBlob")
    if call.service != "kms" or not blob or call.given.get("KeyId"):
        return call
    key_id = bytes(blob)[:KEY_ID_LEN].decode(errors="replace")
    return replace(call, given={**call.given, "KeyId": key_id})


def _passed_roles(call: Call) -> Iterator[Need]:
    """Yield the roles that the caller passes to HyperPod."""
    if (call.service, call.operation) not in (
        ("sagemaker", "CreateCluster"),
        ("sagemaker", "UpdateCluster"),
    ):
        return
    roles = (group.get("ExecutionRole") for group in call.given.get("InstanceGroups", []))
    for role in sorted({role for role in roles if role}):
        yield Need("iam:PassRole", role, {"iam:PassedToService": "sagemaker.amazonaws.com"})


def _context(call: Call) -> dict[str, str | Sequence[str]]:
    members = _CONTEXT.get(f"{call.service}:{call.operation}", {})
    found: dict[str, str | Sequence[str]] = {
        key: str(call.given[member]) for key, member in members.items() if member in call.given
    }
    encryption = call.given.get("EncryptionContext") if call.service == "kms" else None
    if encryption:
        found |= {f"kms:EncryptionContext:{key}": value for key, value in encryption.items()}
        found["kms:EncryptionContextKeys"] = sorted(encryption)
    return found | _requested_tags(call.given)


def _requested_tags(given: Mapping[str, Any]) -> dict[str, str | Sequence[str]]:
    tags = given.get("Tags") or given.get("tags") or {}
    if isinstance(tags, list):
        tags = {tag["Key"]: tag["Value"] for tag in tags if {"Key", "Value"} <= tag.keys()}
    if not isinstance(tags, dict) or not tags:
        return {}
    requested = {f"aws:RequestTag/{key}": str(value) for key, value in tags.items()}
    return {**requested, "aws:TagKeys": sorted(tags)}


DECRYPT, DATA_KEY = "kms:Decrypt", "kms:GenerateDataKey"
_STARTS_WRITING = frozenset({"CopyObject", "CreateMultipartUpload", "PutObject"})
_GOES_ON_WRITING = frozenset({"CompleteMultipartUpload", "UploadPart", "UploadPartCopy"})


def key_needs(call: Call, names: Names) -> Iterator[Need]:
    """Yield the key permissions that a call needs."""
    key, actions = _used_key(call, names)
    if not key or OWN_KEY_PREFIX in key:
        return
    domain = "amazonaws.com.cn" if names.partition == "aws-cn" else "amazonaws.com"
    context = {
        "kms:CallerAccount": names.account,
        "kms:ViaService": f"{call.service}.{call.region}.{domain}",
    }
    for action in actions:
        yield Need(action, names.key(call.region, key), context)


def _used_key(call: Call, names: Names) -> tuple[str, Sequence[str]]:
    """Return the key that a call uses, or nothing, and the actions on it."""
    if call.service == "s3":
        return _of_objects(call, names)
    if call.service == "secretsmanager" and call.operation == "GetSecretValue":
        secret = names.secret(call.region, str(call.given.get("SecretId")))
        return getattr(secret, "kms_key_id", None) or "", (DECRYPT,)
    if call.service == "sns" and call.operation == "Publish":
        topic = names.topic(str(call.given.get("TopicArn")))
        return getattr(topic, "kms_master_key_id", None) or "", (DECRYPT, DATA_KEY)
    return "", ()


def _of_objects(call: Call, names: Names) -> tuple[str, Sequence[str]]:
    bucket = names.bucket(str(call.given.get("Bucket")))
    if bucket is None:
        return "", ()
    if call.operation == "GetObject":
        stored = bucket.keys.get(str(call.given.get("Key")))
        encrypted = getattr(stored, "encryption", None) == "aws:kms"
        return (stored.kms_key_id or "" if encrypted and stored else ""), (DECRYPT,)
    if call.operation in _STARTS_WRITING:
        return _key_for_writing(call, bucket), (DATA_KEY,)
    if call.operation in _GOES_ON_WRITING:
        return _key_for_writing(call, bucket), (DECRYPT,)
    return "", ()


def _key_for_writing(call: Call, bucket: Any) -> str:
    """Return the key that the request names, or else the bucket's default key."""
    asked = call.given.get("ServerSideEncryption")
    if asked:
        return str(call.given.get("SSEKMSKeyId") or "") if asked == "aws:kms" else ""
    rule = ((bucket.encryption or {}).get("Rule") or {}).get("ApplyServerSideEncryptionByDefault")
    return str((rule or {}).get("KMSMasterKeyID") or "")


DEFAULT_DOCUMENT = "SSM-SessionManagerRunShell"
_CLUSTER_TARGET = re.compile(r"sagemaker-cluster:(?P<cluster>[a-z0-9]+)_.+")
_TAG = "ssm:resourceTag/aws:ssmmessages"


def session_needs(call: Call, names: Names) -> Iterator[Need]:
    """Yield the permissions that StartSession, ResumeSession and TerminateSession need."""
    here = f"{names.partition}:ssm:{call.region}"
    action = f"ssm:{call.operation}"
    if call.operation == "StartSession":
        context = {"ssm:SessionDocumentAccessCheck": "true"}
        document = call.given.get("DocumentName") or DEFAULT_DOCUMENT
        owner = "" if document.startswith("AWS-") else names.account
        yield Need(action, _target(call, names), context)
        yield Need(action, f"arn:{here}:{owner}:document/{document}", {})
        return
    session = str(call.given.get("SessionId", ""))
    tags = names.sessions.tags(session)
    context = {f"{_TAG}:{key}": value for key, value in tags.items()}
    yield Need(action, f"arn:{here}:{names.account}:session/{session}", context)


def _target(call: Call, names: Names) -> str:
    """Return the ARN of the target node's cluster, or of the target instance."""
    target = str(call.given.get("Target", ""))
    match = _CLUSTER_TARGET.fullmatch(target)
    here = f"{call.region}:{names.account}"
    if match:
        return f"arn:{names.partition}:sagemaker:{here}:cluster/{match['cluster']}"
    if target.startswith("mi-"):
        return f"arn:{names.partition}:ssm:{here}:managed-instance/{target}"
    return f"arn:{names.partition}:ec2:{here}:instance/{target}"
