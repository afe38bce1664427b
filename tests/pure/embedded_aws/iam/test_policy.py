from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.iam import NotAPolicy, faults, policy_of

SOUND = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}


def without(key: str, **more: Any) -> dict[str, Any]:
    return {name: value for name, value in {**SOUND, **more}.items() if name != key}


def test_one_statement_may_stand_without_a_list() -> None:
    (statement,) = policy_of("P", {"Statement": SOUND}).statements
    assert statement.actions == ("s3:GetObject",)
    assert statement.allows


def test_conditions_are_read_as_texts() -> None:
    condition = {"Bool": {"aws:SecureTransport": True}, "NumericLessThan": {"s3:max-keys": [10]}}
    (statement,) = policy_of("P", {"Statement": [{**SOUND, "Condition": condition}]}).statements
    assert [each.values for each in statement.conditions] == [("true",), ("10",)]


@pytest.mark.parametrize(
    ("document", "place", "said"),
    [
        ([], (), "an object with Version and Statement"),
        ({}, (), "has a Statement"),
        ({"Version": "2012-10-18", "Statement": []}, ("Version",), "2012-10-17"),
        ({"Statements": [], "Statement": []}, ("Statements",), "no such element"),
        ({"Statement": ["x"]}, ("Statement", 0), "a statement is an object"),
        ({"Statement": [SOUND, without("Effect")]}, ("Statement", 1, "Effect"), "Allow or Deny"),
        ({"Statement": {**SOUND, "Effect": "allow"}}, ("Statement", 0, "Effect"), "Allow or Deny"),
        ({"Statement": without("Action")}, ("Statement", 0), "either Action or NotAction"),
        ({"Statement": without("Resource")}, ("Statement", 0), "either Resource or NotResource"),
        ({"Statement": {**SOUND, "NotResource": "x"}}, ("Statement", 0), "either Resource"),
        ({"Statement": {**SOUND, "Resource": {"a": 1}}}, ("Statement", 0, "Resource"), "a text"),
        ({"Statement": {**SOUND, "Action": "GetObject"}}, ("Statement", 0, "Action"), "GetObject"),
        ({"Statement": {**SOUND, "Action": [3]}}, ("Statement", 0, "Action"), "3 is no action"),
        ({"Statement": {**SOUND, "action": "s3:*"}}, ("Statement", 0, "action"), "no such element"),
        (
            {"Statement": {**SOUND, "Condition": {"StringIs": {"a": "b"}}}},
            ("Statement", 0, "Condition", "StringIs"),
            "no such operator",
        ),
        (
            {"Statement": {**SOUND, "Condition": {"Bool": "x"}}},
            ("Statement", 0, "Condition", "Bool"),
            "condition keys",
        ),
        ({"Statement": {**SOUND, "Condition": []}}, ("Statement", 0, "Condition"), "operators"),
        (
            {"Statement": {**SOUND, "Condition": {"Bool": {"a": {}}}}},
            ("Statement", 0, "Condition", "Bool", "a"),
            "a text",
        ),
    ],
)
def test_faults_say_where_they_are(document: Any, place: tuple[Any, ...], said: str) -> None:
    found = list(faults(document))
    assert [where for where, _ in found] == [place]
    assert said in found[0][1]


def test_all_faults_are_told_at_once() -> None:
    broken = {"Statement": [without("Effect"), without("Resource")]}
    assert len(list(faults(broken))) == 2
    with pytest.raises(NotAPolicy, match=r"boundary.json is no IAM policy: .*Effect.*Resource"):
        policy_of("boundary.json", broken)


def test_the_policy_of_a_resource_names_principals() -> None:
    trust = {**without("Resource"), "Principal": {"Service": "sagemaker.amazonaws.com"}}
    (statement,) = policy_of("trust", {"Statement": trust}).statements
    assert statement.principals == {"Service": ("sagemaker.amazonaws.com",)}
    (everybody,) = policy_of("open", {"Statement": {**SOUND, "Principal": "*"}}).statements
    assert everybody.principals == {"AWS": ("*",)}
