"""Differences between what a template says of a resource and what the resource is."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.cloudformation.drift import differences


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"Timeout": 3, "On": True}, {"Timeout": "3", "On": "true", "Else": 1}),
        ({"Document": {"Version": "1"}}, {"Document": '{"Version": "1"}'}),
        ({"Tags": [{"Key": "a"}, {"Key": "b"}]}, {"Tags": [{"Key": "b"}, {"Key": "a", "Id": 1}]}),
        ({"Password": "{{resolve:ssm:p}}"}, {"Password": "read elsewhere"}),
    ],
)
def test_the_same_in_another_form_is_no_drift(expected: Any, actual: Any) -> None:
    assert list(differences(expected, actual)) == []


@pytest.mark.parametrize(
    ("expected", "actual", "found"),
    [
        ({"Size": 1}, {"Size": 2}, [("/Size", 1, 2, "NOT_EQUAL")]),
        ({"A": {"B": "x"}}, {"A": {"B": "y"}}, [("/A/B", "x", "y", "NOT_EQUAL")]),
        ({"A": ["x", "y"]}, {"A": ["y"]}, [("/A/0", "x", None, "REMOVE")]),
        ({"A": ["y"]}, {"A": ["y", "x"]}, [("/A/1", None, "x", "ADD")]),
        ({"A": {"B": 1}}, {"A": "no document"}, [("/A", {"B": 1}, "no document", "NOT_EQUAL")]),
    ],
)
def test_each_difference_has_its_place(expected: Any, actual: Any, found: list[Any]) -> None:
    assert [
        (each.path, each.expected, each.actual, each.kind) for each in differences(expected, actual)
    ] == found
