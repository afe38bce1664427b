"""What interface endpoints have to let through."""

from __future__ import annotations

from typing import Any

import pytest

from slurmpod.environment.environment import Environment
from slurmpod.permissions import actions_through_endpoint
from slurmpod.reading.read import Reading
from slurmpod.resolve import resolve
from tests.sound_environment import sound_data

VOLUME_KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"
SESSION_KEY = "arn:aws:kms:us-west-2:123456789012:key/87654321-1234-1234-1234-123456789012"
PULLED = {"image_repositories": ["training/pytorch"]}


def actions(service: str, **sections: Any) -> tuple[str, ...]:
    data = {**sound_data(), **sections}
    return actions_through_endpoint(
        resolve(Reading(Environment.model_validate(data, strict=False))), service
    )


@pytest.mark.parametrize("roles", ["one", "per_role"])
@pytest.mark.parametrize("service", ["ecr.api", "ecr.dkr"])
def test_both_endpoints_of_a_registry_let_images_through(service: str, roles: str) -> None:
    found = actions(service, identity={**PULLED, "roles": roles})
    assert {"ecr:BatchGetImage", "ecr:GetAuthorizationToken"} <= set(found)


def test_each_service_has_its_own_actions_only() -> None:
    assert actions("ssmmessages") == (
        "ssmmessages:CreateControlChannel",
        "ssmmessages:CreateDataChannel",
        "ssmmessages:OpenControlChannel",
        "ssmmessages:OpenDataChannel",
    )
    assert actions("ssm") == ()


def with_volume_key(**sessions: str) -> dict[str, Any]:
    """Return sections with sessions, and a group whose volumes have a key of the user's own."""
    cluster = sound_data()["cluster"]
    cluster["groups"][1]["volume_kms_key_arn"] = VOLUME_KEY
    return {"cluster": cluster, "access": {"sessions": sessions}}


@pytest.mark.parametrize("roles", ["one", "per_role"])
@pytest.mark.parametrize("sessions", [{}, {"record": "none"}, {"kms_key_arn": SESSION_KEY}])
def test_sessions_are_decrypted_with_whatever_key_they_have(
    sessions: dict[str, str], roles: str
) -> None:
    found = actions("kms", **with_volume_key(**sessions), identity={"roles": roles})
    assert found == ("kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey")


@pytest.mark.parametrize("key", [{}, {"kms_key_arn": SESSION_KEY}])
def test_records_in_a_bucket_are_encrypted_too(key: dict[str, str]) -> None:
    assert "kms:GenerateDataKey" in actions("kms", **with_volume_key(record="s3", **key))


def test_without_a_key_nobody_knows_what_is_asked_of_it() -> None:
    assert actions("kms") == ()


@pytest.mark.parametrize(
    "identity",
    [
        {"policy_arns": ["arn:aws:iam::aws:policy/CloudWatchLogsReadOnlyAccess"]},
        {"existing": {"controller": "arn:aws:iam::123456789012:role/nodes"}},
    ],
)
def test_with_policies_of_the_users_own_nobody_knows_all_actions(identity: dict[str, Any]) -> None:
    assert actions("logs")
    assert actions("logs", identity=identity) == ()
    assert actions("kms", access={"sessions": {}}, identity=identity) == ()
