"""Existing KMS keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from embedded_aws.iam import NotAPolicy, Policies, Policy, Principal, Request, evaluate, policy_of
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import denied_into, suppressed
from slurmpod.preflight import names
from slurmpod.preflight.facts import Document, Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

KMS_GUIDE = "https://docs.aws.amazon.com/kms/latest/developerguide/"
ALLOWING_ALL = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
}


@dataclass(frozen=True)
class Key:
    """A KMS key: its state, and its policy if the caller may read it."""

    state: str
    policy: Document | None
    refused: tuple[str, ...] = ()


def _keys(clients: AwsClients, resolved: Resolved) -> dict[str, Key | None]:
    return {arn: _key(clients.kms, arn) for arn in names.keys(resolved)}


def _key(kms: Any, arn: str) -> Key | None:
    with suppressed("NotFoundException"):
        state = kms.describe_key(KeyId=arn)["KeyMetadata"]["KeyState"]
        policy, refused = None, list[str]()
        with denied_into(refused, "kms:GetKeyPolicy"):
            policy = json.loads(kms.get_key_policy(KeyId=arn, PolicyName="default")["Policy"])
        return Key(state, policy, tuple(refused))
    return None


KEYS = Question(
    "keys",
    "keys",
    ("kms:DescribeKey", "kms:GetKeyPolicy"),
    ("kms",),
    _keys,
    named=names.keys,
)


@PREFLIGHT.rule(
    "PRE-411",
    "Keys can be used",
    why="A key that is missing, disabled or scheduled for deletion cannot encrypt: volumes, "
    "file systems and logs that name it fail.",
    fix="correct the ARN, or enable the key",
    source=f"{KMS_GUIDE}key-state.html",
)
def _keys_can_be_used(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    found = facts[KEYS] or {}
    for arn, path in names.keys(resolved).items():
        key = found.get(arn)
        if arn in found and key is None:
            yield Finding(path, "there is no such key")
        elif key and key.state != "Enabled":
            yield Finding(path, f"the key is {key.state}")


@PREFLIGHT.rule(
    "PRE-412",
    "Key policies allow the account's roles",
    why="A key's policy comes first: roles can use the key only if it delegates to the account, "
    "or names them.",
    fix="allow kms:* to the account's root in the key policy; suppress it if it names the roles",
    source=f"{KMS_GUIDE}key-policy-default.html",
    severity=Severity.WARNING,
)
def _keys_let_the_account_in(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    role = f"arn:{resolved.aws_partition}:iam::{resolved.account}:role/{resolved.name}-nodes"
    everything = policy_of("of a role", ALLOWING_ALL)
    for arn, path in names.keys(resolved).items():
        key = (facts[KEYS] or {}).get(arn)
        if (
            key
            and key.policy
            and not _lets_in(
                key.policy, arn, Principal(arn=role, role_arn=role), resolved, everything
            )
        ):
            yield Finding(path, f"the key's policy does not delegate to account {resolved.account}")


@PREFLIGHT.rule(
    "PRE-413",
    "Key policies allow CloudWatch Logs",
    why="CloudWatch Logs encrypts as a service and not with a role; a log group is refused if "
    "its key does not allow the service.",
    fix="allow logs.<region>.amazonaws.com kms:Encrypt*, Decrypt*, ReEncrypt*, GenerateDataKey* "
    "and Describe* in the key policy",
    source="https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html",
)
def _keys_let_logs_in(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    logs = Principal(service=resolved.service("logs"))
    for arn, path in _keys_of_logs(resolved):
        key = (facts[KEYS] or {}).get(arn)
        if key and key.policy and not _lets_in(key.policy, arn, logs, resolved):
            yield Finding(path, f"the key's policy does not allow {logs.service} to encrypt")


def _keys_of_logs(resolved: Resolved) -> Iterator[tuple[str, YamlPath]]:
    flow_logs, monitoring = resolved.network.flow_logs, resolved.monitoring
    if flow_logs.kms_key_arn and resolved.network.existing is None:
        yield flow_logs.kms_key_arn, ("network", "flow_logs", "kms_key_arn")
    if monitoring and monitoring.kms_key_arn:
        yield monitoring.kms_key_arn, ("monitoring", "kms_key_arn")
    if resolved.endpoint and (key := resolved.endpoint.settings.kms_key_arn):
        yield key, (*resolved.endpoint.path, "kms_key_arn")


def _lets_in(policy: Document, arn: str, who: Principal, resolved: Resolved, *own: Policy) -> bool:
    """Return whether a key's policy allows an identity with its `own` policies to use the key."""
    logs = f"arn:{resolved.aws_partition}:logs:{resolved.region}:{resolved.account}:log-group:any"
    context = {
        "aws:PrincipalAccount": resolved.account,
        "aws:SourceAccount": resolved.account,
        "aws:SourceArn": logs,
        "kms:CallerAccount": resolved.account,
        "kms:EncryptionContext:aws:logs:arn": logs,
    }
    request = Request("kms:GenerateDataKey", arn, context, who)
    try:
        of_key = policy_of("of the key", policy)
        return evaluate(request, Policies(own, resource=of_key, resource_decides=True)).allowed
    except NotAPolicy:
        return True


QUESTIONS = (KEYS,)
