"""One change of a policy allows all that it lacks: one finding says what that is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slurmpod.reading.read import read_as
from slurmpod.resolve import resolve
from slurmpod.rules.identity import IDENTITY
from tests.sound_environment import SOUND

OWN = """\
identity:
  existing:
    controller: arn:aws:iam::123456789012:role/controller
    worker: arn:aws:iam::123456789012:role/worker
    policy_files: [role.json]
"""
BOUNDARY = """\
identity:
  roles: per_role
  permissions_boundary:
    policy_arn: arn:aws:iam::123456789012:policy/boundary
    policy_file: role.json
"""


def messages(rule_id: str, identity: str, **statement: Any) -> list[str]:
    """Return what a rule says of a policy with one statement."""
    reading = read_as("environment.yaml", SOUND + identity)
    allowed = {"Effect": "Allow", "Resource": "*", **statement}
    policies = {"role.json": {"Version": "2012-10-17", "Statement": [allowed]}}
    (check,) = (rule.check for rule in IDENTITY.rules if rule.id == rule_id)
    assert check is not None
    return [finding.message for finding in check(resolve(replace(reading, policies=policies)))]


@pytest.mark.parametrize(
    ("rule", "identity"), [("IDN-002", BOUNDARY), ("IDN-003", BOUNDARY), ("IDN-004", OWN)]
)
def test_all_that_lacks_is_one_finding(rule: str, identity: str) -> None:
    (message,) = messages(rule, identity, Action="s3:GetObject")
    assert " more are missing: " in message


def test_it_names_the_first_with_its_reason_three_others_and_how_many_there_are() -> None:
    lacks = ["ssmmessages:*", "s3:ListBucket"]
    (message,) = messages("IDN-004", OWN, NotAction=lacks)
    first, _, others = message.partition("; 4 more are missing: ")
    assert "ssmmessages:CreateControlChannel on * is missing: the Systems Manager agent" in first
    assert "(no policy allows ssmmessages:CreateControlChannel on *)" in first
    assert others == (
        "ssmmessages:CreateDataChannel on *, ssmmessages:OpenControlChannel on *,"
        " ssmmessages:OpenDataChannel on * and 1 more"
    )


def test_two_are_two() -> None:
    (message,) = messages("IDN-004", OWN, NotAction=["ssmmessages:Open*"])
    assert message.endswith("; 1 more is missing: ssmmessages:OpenDataChannel on *")


def test_one_is_told_alone() -> None:
    (message,) = messages("IDN-004", OWN, NotAction="ssmmessages:OpenDataChannel")
    assert message.endswith("(no policy allows ssmmessages:OpenDataChannel on *)")


def test_what_several_roles_lack_is_counted_once() -> None:
    shared = OWN.replace("    worker: arn:aws:iam::123456789012:role/worker\n", "")
    found = [messages("IDN-004", each, Action="s3:GetObject") for each in (OWN, shared)]
    assert found[0] == found[1]
