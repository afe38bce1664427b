"""An API call -> the actions on resources that its caller must be allowed.

Sources: service authorization reference (actions, resource types, condition keys by service).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from moto.kms.utils import KEY_ID_LEN

from slurmpod.rehearsal.cloud.enforcement.key_needs import key_needs
from slurmpod.rehearsal.cloud.enforcement.need import Need
from slurmpod.rehearsal.cloud.enforcement.resource_forms import resources_of
from slurmpod.rehearsal.cloud.enforcement.s3_needs import s3_needs
from slurmpod.rehearsal.cloud.enforcement.session_needs import session_needs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slurmpod.rehearsal.cloud.enforcement.calls import Call
    from slurmpod.rehearsal.cloud.enforcement.names import Names

ALWAYS_ALLOWED = frozenset({"sts:GetCallerIdentity", "sts:GetSessionToken"})
"""What needs no permission, and no policy can deny (STS API reference)."""

_ACTIONS = {"lambda:Invoke": "lambda:InvokeFunction"}
"""Operations whose action has another name; S3's are in `s3_needs`."""

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
"""By action: condition keys, and the members of the input that they stand for."""


def needs_of(call: Call, names: Names) -> tuple[Need, ...]:
    """Return everything that a call takes; one without a name takes all of its service."""
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
    """Return the call with the key that encrypted what it decrypts, which it need not name.

    moto's ciphertexts begin with the id of their key.
    """
    blob = call.given.get("CiphertextBlob")
    if call.service != "kms" or not blob or call.given.get("KeyId"):
        return call
    key_id = bytes(blob)[:KEY_ID_LEN].decode(errors="replace")
    return replace(call, given={**call.given, "KeyId": key_id})


def _passed_roles(call: Call) -> Iterator[Need]:
    """Yield the roles that the caller hands to HyperPod."""
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
