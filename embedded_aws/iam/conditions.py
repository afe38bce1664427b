"""Conditions of a statement, with wildcards and variables in their values.

Source: IAM user guide, "IAM JSON policy elements: Condition operators", "Set operators for
multivalued context keys" and "Policy elements: Variables and tags".
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import ip_address, ip_network

Values = Mapping[str, tuple[str, ...]]

Comparison = Callable[[str, str, Values], bool]
"""(policy value, request value, whole context) -> whether they match."""


@dataclass(frozen=True)
class Condition:
    """One line of a Condition element: an operator, a key, and values, one of which must match."""

    operator: str
    key: str
    values: tuple[str, ...]


IF_EXISTS = "IfExists"
FOR_ALL, FOR_ANY = "ForAllValues:", "ForAnyValue:"


def holds(condition: Condition, values: Values) -> bool:
    """Return whether a condition of a statement holds; one with an unknown operator never does."""
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
    """Return whether IAM has a condition operator of this name."""
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


ARN_PARTS = 6
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_WITH_DEFAULT = re.compile(r"([^,]*),\s*'(.*)'")
_LITERAL_CHARACTERS = frozenset("*?$")


class Unfillable(Exception):
    """The request has no single value for a variable: a pattern with it matches nothing."""


def action_matches(pattern: str, action: str) -> bool:
    """Return whether an action matches; case does not matter."""
    return bool(_glob(pattern.lower()).fullmatch(action.lower()))


def like(pattern: str, text: str, values: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether `text` matches `pattern`, which may have wildcards and variables."""
    if "${" not in pattern:
        return bool(_glob(pattern).fullmatch(text))
    try:
        return bool(re.fullmatch(_filled(pattern, values), text, re.DOTALL))
    except Unfillable:
        return False


def arn_like(pattern: str, arn: str, values: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether an ARN matches; each of its six parts is compared separately."""
    patterns = _VARIABLE.sub(lambda match: match[0].replace(":", "\0"), pattern).split(":", 5)
    parts = arn.split(":", ARN_PARTS - 1)
    if len(patterns) != ARN_PARTS or len(parts) != ARN_PARTS:
        return False
    return all(
        like(wanted.replace("\0", ":"), part, values)
        for wanted, part in zip(patterns, parts, strict=True)
    )


def filled(text: str, values: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return `text` with its variables filled in, wildcards as they are; None if one is missing."""
    try:
        return _VARIABLE.sub(lambda match: _value(match[1], values), text)
    except Unfillable:
        return None


@lru_cache(maxsize=4096)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(_expression(pattern), re.DOTALL)


def _expression(pattern: str) -> str:
    """Return a pattern with wildcards as a regular expression."""
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")


def _filled(pattern: str, values: Mapping[str, tuple[str, ...]]) -> str:
    """Return a regular expression; stars in a variable's value are not wildcards."""
    expression, position = "", 0
    for match in _VARIABLE.finditer(pattern):
        expression += _expression(pattern[position : match.start()])
        expression += re.escape(_value(match[1], values))
        position = match.end()
    return expression + _expression(pattern[position:])


def _value(variable: str, values: Mapping[str, tuple[str, ...]]) -> str:
    if variable in _LITERAL_CHARACTERS:
        return variable
    with_default = _WITH_DEFAULT.fullmatch(variable)
    key, default = with_default.groups() if with_default else (variable, None)
    found = values.get(key.strip().lower(), ())
    if len(found) == 1:
        return found[0]
    if default is None or found:
        raise Unfillable(variable)
    return default


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
"""By operator: the comparison of two values, and whether the operator negates it."""
