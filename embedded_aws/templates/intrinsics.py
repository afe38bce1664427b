"""Intrinsic functions, which turn templates with Ref and Fn::... into plain values; their scope.

Pure: everything that a function looks up comes from a `Scope`. An unknown function is an error.
Source: the CloudFormation template reference, "Intrinsic functions"; the CDK uses
Fn::GetStackOutput for weak references between stacks.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Protocol

from embedded_aws.templates.template import Template, TemplateError

NO_VALUE: Final = object()
"""The value of `Ref: AWS::NoValue`; keys and list items with it are removed."""

UNKNOWN: Final = "{{unborn:"
"""Prefix of the marker for a value of a resource that does not exist yet."""

_PLACEHOLDER = re.compile(r"\$\{([^!{}][^{}]*)\}")
_ESCAPED_PLACEHOLDER = re.compile(r"\$\{!([^{}]*)\}")


class Scope(Protocol):
    """Names that intrinsic functions look up. Lookups raise TemplateError for unknown ones."""

    def ref(self, name: str) -> Any:
        """Return a parameter, pseudo parameter or physical id; NO_VALUE for AWS::NoValue."""

    def attribute(self, logical_id: str, name: str) -> Any:
        """Return an attribute of a resource."""

    def mapping(self, name: str, first_key: str, second_key: str) -> Any:
        """Return a value of the Mappings section."""

    def condition(self, name: str) -> bool:
        """Return whether a condition of the Conditions section holds."""

    def exported(self, name: str) -> str:
        """Return the value that some stack exports under `name`."""

    def stack_output(self, stack_name: str, region: str | None, output: str) -> str:
        """Return an output of another stack of this account."""

    def zones(self, region: str) -> list[str]:
        """Return the names of a region's availability zones."""


class Resolver:
    """Resolves template values within one scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Ref": scope.ref,
            "Fn::And": self._all,
            "Fn::GetAtt": self._attribute,
            "Fn::If": self._if,
            "Fn::Not": self._not,
            "Fn::Or": self._any,
            "Fn::Sub": self._substitute,
        }
        self._functions_of_values: dict[str, Callable[[Any], Any]] = {
            "Fn::Base64": _base64,
            "Fn::Cidr": _cidr,
            "Fn::Contains": _contains,
            "Fn::Equals": _equals,
            "Fn::FindInMap": self._find_in_map,
            "Fn::GetAZs": self._zones,
            "Fn::GetStackOutput": self._stack_output,
            "Fn::ImportValue": scope.exported,
            "Fn::Join": _join,
            "Fn::Length": _length,
            "Fn::Select": _select,
            "Fn::Split": _split,
            "Fn::ToJsonString": _to_json,
        }

    def resolve(self, value: Any) -> Any:
        """Return `value` with every function replaced by its result."""
        if isinstance(value, list):
            return [item for item in map(self.resolve, value) if item is not NO_VALUE]
        if not isinstance(value, dict):
            return value
        function = function_name(value)
        if function is not None:
            return self._call(function, value[function])
        resolved = {key: self.resolve(item) for key, item in value.items()}
        return {key: item for key, item in resolved.items() if item is not NO_VALUE}

    def holds(self, condition: Any) -> bool:
        """Evaluate the body of a condition or rule assertion."""
        if isinstance(condition, dict) and list(condition) == ["Condition"]:
            return self._scope.condition(condition["Condition"])
        return bool(self.resolve(condition))

    def _call(self, function: str, argument: Any) -> Any:
        try:
            if function in self._functions:
                return self._functions[function](argument)
            if function in self._functions_of_values:
                return self._called(self._functions_of_values[function], argument)
        except (TypeError, ValueError, IndexError, KeyError) as error:
            raise TemplateError(
                f"Template error: {function} cannot be applied to {json.dumps(argument)}: {error}"
            ) from error
        raise TemplateError(f"{function} is not supported by the embedded AWS.")

    def _called(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """Call a function of values; the result of an unknown value is unknown."""
        values = self.resolve(argument)
        unknown = next(_unknown(values), None)
        return function(values) if unknown is None else unknown

    def _attribute(self, argument: Any) -> Any:
        logical_id, name = argument.split(".", 1) if isinstance(argument, str) else argument
        return self._scope.attribute(logical_id, self.resolve(name))

    def _stack_output(self, given: Any) -> str:
        return self._scope.stack_output(
            given["StackName"], given.get("Region"), given["OutputName"]
        )

    def _find_in_map(self, argument: Any) -> Any:
        name, first_key, second_key, *options = argument
        try:
            return self._scope.mapping(name, as_text(first_key), as_text(second_key))
        except TemplateError:
            if options:
                return options[0]["DefaultValue"]
            raise

    def _zones(self, region: Any) -> list[str]:
        return self._scope.zones(region or self._scope.ref("AWS::Region"))

    def _if(self, argument: Any) -> Any:
        condition, when_true, when_false = argument
        return self.resolve(when_true if self._scope.condition(condition) else when_false)

    def _all(self, argument: Any) -> bool:
        return all(self.holds(item) for item in argument)

    def _any(self, argument: Any) -> bool:
        return any(self.holds(item) for item in argument)

    def _not(self, argument: Any) -> bool:
        (condition,) = argument
        return not self.holds(condition)

    def _substitute(self, argument: Any) -> str:
        text, given = argument if isinstance(argument, list) else (argument, {})
        variables = self.resolve(given)

        def value_of(match: re.Match[str]) -> str:
            name = match.group(1).strip()
            if name in variables:
                return as_text(variables[name])
            return as_text(self._attribute(name) if "." in name else self._scope.ref(name))

        return _ESCAPED_PLACEHOLDER.sub(r"${\1}", _PLACEHOLDER.sub(value_of, text))


def function_name(value: dict[str, Any]) -> str | None:
    """Return the function that a one-key object calls, or None for plain data."""
    if len(value) != 1:
        return None
    (key,) = value
    return key if key == "Ref" or key.startswith("Fn::") else None


def as_text(value: Any) -> str:
    """Return the text of a value as CloudFormation compares and joins it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_unknown(value: Any) -> bool:
    """Return whether a text contains the marker of a resource that does not exist yet."""
    return isinstance(value, str) and UNKNOWN in value


def _unknown(value: Any) -> Iterator[str]:
    """Yield the texts in a value that are not known yet."""
    if is_unknown(value):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _unknown(item)


def _equals(argument: Any) -> bool:
    left, right = argument
    return as_text(left) == as_text(right)


def _contains(argument: Any) -> bool:
    items, item = argument
    return item in items


def _join(argument: Any) -> str:
    separator, items = argument
    return str(separator).join(map(as_text, items))


def _split(argument: Any) -> list[str]:
    separator, text = argument
    return str(text).split(separator)


def _select(argument: Any) -> Any:
    index, items = argument
    return items[int(index)]


def _length(items: Any) -> int:
    if not isinstance(items, list):
        raise TypeError("it is not a list")
    return len(items)


def _cidr(argument: Any) -> list[str]:
    block, count, host_bits = argument
    network = ipaddress.ip_network(block)
    subnets = network.subnets(new_prefix=network.max_prefixlen - int(host_bits))
    blocks = [str(subnet) for subnet in islice(subnets, int(count))]
    if len(blocks) < int(count):
        raise ValueError(f"{block} has room for {len(blocks)} blocks of that size")
    return blocks


def _base64(text: Any) -> str:
    return base64.b64encode(str(text).encode()).decode()


def _to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class Referable(Protocol):
    """A resource that Ref and Fn::GetAtt can refer to."""

    @property
    def physical_id(self) -> str:
        """The value of Ref."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The values of Fn::GetAtt, by attribute name."""


class AccountView(Protocol):
    """A stack's view of other stacks and the account."""

    def exported(self, name: str) -> str:
        """Return the value exported under `name`; raises TemplateError."""

    def stack_output(self, stack_name: str, region: str, output: str) -> str:
        """Return an output of another stack; raises TemplateError."""

    def zones(self, region: str) -> list[str]:
        """Return the availability zones of a region."""


@dataclass
class StackScope:
    """The names that one version of a stack's template can use."""

    template: Template
    pseudo_parameters: Mapping[str, str]
    parameters: Mapping[str, Any]
    resources: Mapping[str, Referable]
    """The current resources, to which more may be added while the stack is created."""
    account_view: AccountView
    _conditions: dict[str, bool] = field(default_factory=dict)

    def ref(self, name: str) -> Any:
        """Return a parameter, pseudo parameter or physical id."""
        if name == "AWS::NoValue":
            return NO_VALUE
        for values in (self.pseudo_parameters, self.parameters):
            if name in values:
                return values[name]
        return self._resource(name).physical_id

    def attribute(self, logical_id: str, name: str) -> Any:
        """Return the current value of a resource's attribute."""
        attributes = self._resource(logical_id).attributes
        if name not in attributes:
            raise TemplateError(
                f"Template error: resource {logical_id} does not support attribute type {name} "
                f"in Fn::GetAtt (the embedded AWS knows {', '.join(sorted(attributes)) or 'none'})"
            )
        return attributes[name]

    def mapping(self, name: str, first_key: str, second_key: str) -> Any:
        """Return a value of the Mappings section."""
        try:
            return self.template.section("Mappings")[name][first_key][second_key]
        except KeyError:
            raise TemplateError(
                f"Template error: Unable to get mapping for {name}::{first_key}::{second_key}"
            ) from None

    def condition(self, name: str) -> bool:
        """Return whether a condition holds; each is evaluated once."""
        if name not in self._conditions:
            conditions = self.template.section("Conditions")
            if name not in conditions:
                raise TemplateError(f"Template format error: Unresolved condition {name}")
            self._conditions[name] = Resolver(self).holds(conditions[name])
        return self._conditions[name]

    def exported(self, name: str) -> str:
        """Return what another stack exports under `name`."""
        return self.account_view.exported(name)

    def stack_output(self, stack_name: str, region: str | None, output: str) -> str:
        """Return an output of another stack, by default of this region."""
        here = self.pseudo_parameters["AWS::Region"]
        return self.account_view.stack_output(stack_name, region or here, output)

    def zones(self, region: str) -> list[str]:
        """Return the availability zones of a region."""
        return self.account_view.zones(region)

    def _resource(self, logical_id: str) -> Referable:
        if logical_id not in self.resources:
            raise TemplateError(
                "Template format error: Unresolved resource dependencies "
                f"[{logical_id}] in the Resources block of the template"
            )
        return self.resources[logical_id]


def check_rules(template: Template, scope: StackScope) -> None:
    """Apply the template's Rules section; raises TemplateError for a failed assertion."""
    resolver = Resolver(scope)
    for name, rule in template.section("Rules").items():
        if not resolver.holds(rule.get("RuleCondition", True)):
            continue
        for assertion in rule["Assertions"]:
            if not resolver.holds(assertion["Assert"]):
                text = assertion.get("AssertDescription", "an assertion failed")
                raise TemplateError(f"Template rule {name}: {text}")
