"""Keys of the user, and log groups that are encrypted with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_stacks import ACCOUNT, REGION, Resources, Stacks, att, ref, resource

MISSING_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/00000000-0000-0000-0000-000000000000"
OWNER = {
    "Effect": "Allow",
    "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
    "Action": "kms:*",
    "Resource": "*",
}
LOGS = {
    "Effect": "Allow",
    "Principal": {"Service": f"logs.{REGION}.amazonaws.com"},
    "Action": ["kms:Encrypt*", "kms:Decrypt*", "kms:GenerateDataKey*"],
    "Resource": "*",
}


def key(*statements: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return resource("KMS::Key", KeyPolicy={"Statement": list(statements or [OWNER])}, **properties)


def test_a_key_comes_changes_and_goes(stacks: Stacks, clients: Clients) -> None:
    kms = clients.service("kms")
    alias = resource("KMS::Alias", AliasName="alias/pod", TargetKeyId=ref("Key"))
    first = key(Description="first", EnableKeyRotation=True, PendingWindowInDays=7)
    second = key(OWNER, LOGS, Description="second", Tags=[{"Key": "a", "Value": "1"}])
    made = stacks.deploy("key", {"Key": first, "Alias": alias}, Arn=att("Key", "Arn"))
    rotated = kms.get_key_rotation_status(KeyId=made.ids["Key"])["KeyRotationEnabled"]
    changed = stacks.deploy("key", {"Key": second, "Alias": alias})
    found = kms.describe_key(KeyId="alias/pod")["KeyMetadata"]
    policy = json.loads(kms.get_key_policy(KeyId=made.ids["Key"], PolicyName="default")["Policy"])

    assert made.ids == changed.ids
    assert made.outputs["Arn"] == found["Arn"]
    assert rotated is True
    assert kms.get_key_rotation_status(KeyId=made.ids["Key"])["KeyRotationEnabled"] is False
    assert found["Description"] == "second"
    assert policy["Statement"] == [OWNER, LOGS]
    assert kms.list_resource_tags(KeyId=made.ids["Key"])["Tags"] == [
        {"TagKey": "a", "TagValue": "1"}
    ]
    assert stacks.delete("key").status == "DELETE_COMPLETE"
    assert kms.list_aliases(KeyId=made.ids["Key"])["Aliases"] == []
    assert kms.describe_key(KeyId=made.ids["Key"])["KeyMetadata"]["KeyState"] == "PendingDeletion"


def log_group(key_arn: Any = None) -> dict[str, Any]:
    encryption = {} if key_arn is None else {"KmsKeyId": key_arn}
    return resource("Logs::LogGroup", LogGroupName="/pod/flows", **encryption)


def test_a_log_group_can_get_and_lose_a_key(stacks: Stacks, clients: Clients) -> None:
    def encrypted_with() -> Any:
        (found,) = clients.logs.describe_log_groups(logGroupNamePrefix="/pod")["logGroups"]
        return found.get("kmsKeyId")

    keyed: Resources = {"Key": key(OWNER, LOGS), "Flows": log_group(att("Key", "Arn"))}
    made = stacks.deploy("logs", keyed, Arn=att("Key", "Arn"))
    encrypted = encrypted_with()
    changed = stacks.deploy("logs", {**keyed, "Flows": log_group()})

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert encrypted == made.outputs["Arn"]
    assert changed.ids == made.ids
    assert encrypted_with() is None
    stacks.delete("logs")


@pytest.mark.parametrize(
    "resources",
    [
        {"Flows": log_group(MISSING_KEY)},
        {"Key": key(OWNER), "Flows": log_group(att("Key", "Arn"))},
    ],
)
def test_a_log_group_needs_a_key_that_lets_it(stacks: Stacks, resources: Resources) -> None:
    outcome = stacks.deploy("logs", resources)
    stacks.delete("logs")

    assert outcome.status == "ROLLBACK_COMPLETE"
    assert (
        "The specified KMS key does not exist or is not allowed to be used with Arn "
        f"'arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/pod/flows'"
    ) in outcome.reasons
