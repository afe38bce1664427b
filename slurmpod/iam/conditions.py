"""Whether the conditions of a statement hold for a request.

Source: IAM user guide, "IAM JSON policy elements: Condition operators" and "Set operators for
multivalued context keys".
"""

from __future__ import annotations

import operator
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from slurmpod.iam.patterns import arn_like, filled, like

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slurmpod.iam.policy import Condition

    Values = Mapping[str, tuple[str, ...]]
    Comparison = Callable[[str, str, Values], bool]
    """(what the policy says, what the request has, the whole context) -> whether they agree."""

IF_EXISTS = "IfExists"
FOR_ALL, FOR_ANY = "ForAllValues:", "ForAnyValue:"


def holds(condition: Condition, values: Values) -> bool:
    """Tell whether a condition of a statement holds; one that AWS would not know never does."""
    name, for_all, for_any, if_exists = _parts(condition.operator)
    present = values.get(condition.key.lower(), ())
    if name == "Null":
        return all((not present) == (wanted.lower() == "true") for wanted in condition.values)
    comparison = COMPARISONS.get(name)
    if comparison is None:
        return False
    compare, negated = comparison
    if not present:
        return for_all or if_exists or (negated and not for_any)
    agrees = [_is_one_of(value, condition.values, compare, values) != negated for value in present]
    if for_all or (negated and not for_any):
        return all(agrees)
    return any(agrees)


def is_operator(text: str) -> bool:
    """Tell whether IAM knows a condition operator of this name."""
    name, for_all, for_any, if_exists = _parts(text)
    if name == "Null":
        return not (for_all or for_any or if_exists)
    return name in COMPARISONS


def _parts(text: str) -> tuple[str, bool, bool, bool]:
    for_all, for_any = text.startswith(FOR_ALL), text.startswith(FOR_ANY)
    name = text.removeprefix(FOR_ALL).removeprefix(FOR_ANY)
    if_exists = name.endswith(IF_EXISTS)
    return name.removesuffix(IF_EXISTS), for_all, for_any, if_exists


def _is_one_of(value: str, wanted: Sequence[str], compare: Comparison, values: Values) -> bool:
    return any(compare(each, value, values) for each in wanted)


def _equals(wanted: str, value: str, values: Values) -> bool:
    return filled(wanted, values) == value


def _equals_in_any_case(wanted: str, value: str, values: Values) -> bool:
    text = filled(wanted, values)
    return text is not None and text.lower() == value.lower()


def _bool(wanted: str, value: str, _: Values) -> bool:
    return wanted.lower() == value.lower()


def _binary(wanted: str, value: str, _: Values) -> bool:
    return wanted == value


def _numeric(compare: Callable[[float, float], bool]) -> Comparison:
    def agrees(wanted: str, value: str, _: Values) -> bool:
        try:
            return compare(float(value), float(wanted))
        except ValueError:
            return False

    return agrees


def _date(compare: Callable[[datetime, datetime], bool]) -> Comparison:
    def agrees(wanted: str, value: str, _: Values) -> bool:
        try:
            return compare(_moment(value), _moment(wanted))
        except (ValueError, OverflowError, OSError):
            return False

    return agrees


def _moment(text: str) -> datetime:
    """Return a date in ISO 8601 or in seconds since 1970; raises ValueError."""
    if text.lstrip("-").isdigit():
        return datetime.fromtimestamp(int(text), tz=UTC)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _ip_address(wanted: str, value: str, _: Values) -> bool:
    try:
        network = ip_network(wanted, strict=False)
        return ip_address(value) in network
    except ValueError:
        return False


COMPARISONS: Mapping[str, tuple[Comparison, bool]] = {
    "StringEquals": (_equals, False),
    "StringNotEquals": (_equals, True),
    "StringEqualsIgnoreCase": (_equals_in_any_case, False),
    "StringNotEqualsIgnoreCase": (_equals_in_any_case, True),
    "StringLike": (like, False),
    "StringNotLike": (like, True),
    "ArnEquals": (arn_like, False),
    "ArnLike": (arn_like, False),
    "ArnNotEquals": (arn_like, True),
    "ArnNotLike": (arn_like, True),
    "NumericEquals": (_numeric(operator.eq), False),
    "NumericNotEquals": (_numeric(operator.eq), True),
    "NumericLessThan": (_numeric(operator.lt), False),
    "NumericLessThanEquals": (_numeric(operator.le), False),
    "NumericGreaterThan": (_numeric(operator.gt), False),
    "NumericGreaterThanEquals": (_numeric(operator.ge), False),
    "DateEquals": (_date(operator.eq), False),
    "DateNotEquals": (_date(operator.eq), True),
    "DateLessThan": (_date(operator.lt), False),
    "DateLessThanEquals": (_date(operator.le), False),
    "DateGreaterThan": (_date(operator.gt), False),
    "DateGreaterThanEquals": (_date(operator.ge), False),
    "Bool": (_bool, False),
    "BinaryEquals": (_binary, False),
    "IpAddress": (_ip_address, False),
    "NotIpAddress": (_ip_address, True),
}
"""By operator: when two values agree, and whether the operator wants the contrary."""
