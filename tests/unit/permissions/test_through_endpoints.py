"""What interface endpoints have to let through."""

from __future__ import annotations

from typing import Any

import pytest

from slurmpod.model.environment import Environment
from slurmpod.permissions import actions_through_endpoint
from slurmpod.resolve import resolve
from tests.sound_environment import sound_data

PULLED = {"image_repositories": ["training/pytorch"]}


def actions(service: str, **sections: Any) -> tuple[str, ...]:
    data = {**sound_data(), **sections}
    return actions_through_endpoint(
        resolve(Environment.model_validate(data, strict=False)), service
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
