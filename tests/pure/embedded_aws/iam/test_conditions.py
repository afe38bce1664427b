from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.iam import Condition, Request
from embedded_aws.iam.conditions import holds, is_operator

KEY = "aws:x"


def holds_for(operator: str, wanted: Any, value: Any = None, **more: str) -> bool:
    values = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    context = dict(more) if value is None else {KEY: value, **more}
    return holds(Condition(operator, KEY, values), Request("a:B", "*", context).values)


@pytest.mark.parametrize(
    ("operator", "wanted", "value", "expected"),
    [
        ("StringEquals", "a", "a", True),
        ("StringEquals", "a", "A", False),
        ("StringEquals", "a*", "ab", False),
        ("StringEquals", ["a", "b"], "b", True),
        ("StringNotEquals", ["a", "b"], "b", False),
        ("StringNotEquals", ["a", "b"], "c", True),
        ("StringEqualsIgnoreCase", "a", "A", True),
        ("StringNotEqualsIgnoreCase", "a", "A", False),
        ("StringLike", "data/*", "data/x/y", True),
        ("StringLike", "Data/*", "data/x", False),
        ("StringNotLike", ["a*", "b*"], "bc", False),
        ("NumericEquals", "10", "10.0", True),
        ("NumericNotEquals", "10", "11", True),
        ("NumericLessThan", "10", "9", True),
        ("NumericLessThan", "10", "10", False),
        ("NumericLessThanEquals", "10", "10", True),
        ("NumericGreaterThan", "10", "9", False),
        ("NumericGreaterThanEquals", "10", "10", True),
        ("NumericLessThan", "10", "no number", False),
        ("DateLessThan", "2026-01-01T00:00:00Z", "2025-12-31T23:59:59Z", True),
        ("DateGreaterThan", "2026-01-01", "1767225601", True),
        ("DateEquals", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z", True),
        ("DateNotEquals", "2026-01-01", "2026-01-02", True),
        ("DateLessThanEquals", "never", "2026-01-01", False),
        ("DateGreaterThanEquals", "2026-01-01", "2026-01-01", True),
        ("Bool", "true", "True", True),
        ("Bool", "false", "true", False),
        ("BinaryEquals", "QQ==", "QQ==", True),
        ("IpAddress", "10.0.0.0/8", "10.1.2.3", True),
        ("IpAddress", "10.0.0.1", "10.0.0.1", True),
        ("IpAddress", ["192.0.2.0/24", "2001:db8::/32"], "2001:db8::1", True),
        ("NotIpAddress", "10.0.0.0/8", "10.1.2.3", False),
        ("NotIpAddress", "10.0.0.0/8", "192.0.2.1", True),
        ("ArnLike", "arn:aws:iam::*:role/*", "arn:aws:iam::1:role/a", True),
        ("ArnEquals", "arn:aws:iam::1:role/*", "arn:aws:iam::1:role/a", True),
        ("ArnLike", "arn:*:role/a", "arn:aws:iam::1:role/a", False),
        ("ArnLike", "arn:aws:logs:*:1:group:*", "arn:aws:logs:x:1:group:a:b", True),
        ("ArnNotLike", "arn:aws:iam::2:role/*", "arn:aws:iam::1:role/a", True),
        ("ArnNotEquals", "arn:aws:iam::1:role/a", "arn:aws:iam::1:role/a", False),
        ("ArnLike", "arn:aws:iam::1:role/a", "no arn", False),
        ("NoSuchOperator", "a", "a", False),
    ],
)
def test_operators(operator: str, wanted: Any, value: str, expected: bool) -> None:
    assert holds_for(operator, wanted, value) is expected


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("StringEquals", False),
        ("StringLike", False),
        ("Bool", False),
        ("NumericLessThan", False),
        ("StringEqualsIfExists", True),
        ("BoolIfExists", True),
        ("StringNotEquals", True),
        ("StringNotLike", True),
        ("ArnNotLike", True),
        ("NotIpAddress", True),
        ("ForAllValues:StringEquals", True),
        ("ForAnyValue:StringEquals", False),
        ("ForAnyValue:StringNotEquals", False),
        ("ForAnyValue:StringEqualsIfExists", True),
    ],
)
def test_a_key_that_the_request_lacks(operator: str, expected: bool) -> None:
    assert holds_for(operator, "a") is expected


@pytest.mark.parametrize(
    ("operator", "wanted", "values", "expected"),
    [
        ("ForAllValues:StringEquals", ["a", "b"], ["a"], True),
        ("ForAllValues:StringEquals", ["a", "b"], ["a", "c"], False),
        ("ForAllValues:StringEquals", ["a"], [], True),
        ("ForAllValues:StringNotLike", ["x*"], ["a", "xy"], False),
        ("ForAnyValue:StringEquals", ["a", "b"], ["c", "b"], True),
        ("ForAnyValue:StringLike", ["a*"], ["c", "b"], False),
        ("ForAnyValue:StringNotEquals", ["a"], ["a", "b"], True),
        ("ForAnyValue:StringNotEquals", ["a"], ["a"], False),
        ("StringNotEquals", ["a"], ["a", "b"], False),
        ("StringEquals", ["a"], ["a", "b"], True),
    ],
)
def test_keys_with_several_values(
    operator: str, wanted: list[str], values: list[str], expected: bool
) -> None:
    assert holds_for(operator, wanted, values) is expected


def test_null_asks_whether_a_key_is_there() -> None:
    assert holds_for("Null", "true")
    assert not holds_for("Null", "true", "a")
    assert holds_for("Null", "false", "a")
    assert not holds_for("Null", "false")


def test_variables_are_filled_into_values() -> None:
    more = {"aws:username": "alice"}
    assert holds_for("StringEquals", "home/${aws:username}", "home/alice", **more)
    assert holds_for("StringLike", "home/${aws:username}/*", "home/alice/x", **more)
    assert not holds_for("StringEquals", "home/${aws:userid}", "home/alice", **more)
    assert holds_for("StringEqualsIgnoreCase", "${aws:username}", "ALICE", **more)
    arn = "arn:aws:iam::1:user/${aws:username}"
    assert holds_for("ArnLike", arn, "arn:aws:iam::1:user/alice", **more)


def test_keys_are_the_same_in_any_case() -> None:
    condition = Condition("Bool", "aws:SecureTransport", ("true",))
    assert holds(condition, Request("a:B", "*", {"AWS:securetransport": "true"}).values)


def test_operators_are_known_with_their_additions() -> None:
    assert is_operator("ForAnyValue:StringLikeIfExists")
    assert is_operator("Null")
    assert not is_operator("NullIfExists")
    assert not is_operator("StringIs")
