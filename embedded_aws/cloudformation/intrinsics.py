"""Intrinsic functions: templates with Ref and Fn::... in, plain values out; and the names they see.

Pure: everything that a function looks up comes from a `Scope`. An unknown function is an error.
Source: the CloudFormation template reference, "Intrinsic functions"; Fn::GetStackOutput is what
the CDK writes for weak references between stacks.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from embedded_aws.cloudformation.template import Template, TemplateError

NO_VALUE: Final = object()
"""What `Ref: AWS::NoValue` resolves to; keys and list items with it disappear."""

_DYNAMIC_REFERENCE = "{{resolve:"
_PLACEHOLDER = re.compile(r"\$\{([^!{}][^{}]*)\}")
_ESCAPED_PLACEHOLDER = re.compile(r"\$\{!([^{}]*)\}")


class Scope(Protocol):
    """Names that intrinsic functions see. Every lookup raises TemplateError for unknown ones."""

    def ref(self, name: str) -> Any:
        """Return a parameter, pseudo parameter or physical id; NO_VALUE for AWS::NoValue."""

    def attribute(self, logical_id: str, name: str) -> Any:
        """Return an attribute of a resource."""

    def mapping(self, name: str, first_key: str, second_key: str) -> Any:
        """Return a value of the Mappings section."""

    def condition(self, name: str) -> bool:
        """Tell whether a condition of the Conditions section holds."""

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
            "Ref": self._ref,
            "Fn::And": self._all,
            "Fn::Base64": self._base64,
            "Fn::Cidr": self._cidr,
            "Fn::Contains": self._contains,
            "Fn::Equals": self._equals,
            "Fn::FindInMap": self._find_in_map,
            "Fn::GetAZs": self._zones,
            "Fn::GetAtt": self._attribute,
            "Fn::GetStackOutput": self._stack_output,
            "Fn::If": self._if,
            "Fn::ImportValue": self._import,
            "Fn::Join": self._join,
            "Fn::Not": self._not,
            "Fn::Or": self._any,
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::Sub": self._substitute,
            "Fn::ToJsonString": self._to_json,
        }

    def resolve(self, value: Any) -> Any:
        """Return `value` with every function replaced by its result."""
        if isinstance(value, list):
            return [item for item in map(self.resolve, value) if item is not NO_VALUE]
        if isinstance(value, str) and _DYNAMIC_REFERENCE in value:
            raise TemplateError(
                f"Dynamic references are not supported by the embedded AWS: {value}"
            )
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
        if function not in self._functions:
            raise TemplateError(f"{function} is not supported by the embedded AWS.")
        try:
            return self._functions[function](argument)
        except (TypeError, ValueError, IndexError, KeyError) as error:
            raise TemplateError(
                f"Template error: {function} cannot be applied to {json.dumps(argument)}: {error}"
            ) from error

    def _ref(self, name: Any) -> Any:
        return self._scope.ref(name)

    def _attribute(self, argument: Any) -> Any:
        logical_id, name = argument.split(".", 1) if isinstance(argument, str) else argument
        return self._scope.attribute(logical_id, self.resolve(name))

    def _stack_output(self, argument: Any) -> str:
        given = self.resolve(argument)
        return self._scope.stack_output(
            given["StackName"], given.get("Region"), given["OutputName"]
        )

    def _import(self, argument: Any) -> str:
        return self._scope.exported(self.resolve(argument))

    def _find_in_map(self, argument: Any) -> Any:
        name, first_key, second_key = self.resolve(argument)
        return self._scope.mapping(name, first_key, second_key)

    def _zones(self, argument: Any) -> list[str]:
        return self._scope.zones(self.resolve(argument) or self._scope.ref("AWS::Region"))

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

    def _equals(self, argument: Any) -> bool:
        left, right = self.resolve(argument)
        return _as_text(left) == _as_text(right)

    def _contains(self, argument: Any) -> bool:
        items, item = self.resolve(argument)
        return item in items

    def _join(self, argument: Any) -> str:
        separator, items = argument
        return str(separator).join(_as_text(item) for item in self.resolve(items))

    def _split(self, argument: Any) -> list[str]:
        separator, text = argument
        return str(self.resolve(text)).split(separator)

    def _select(self, argument: Any) -> Any:
        index, items = self.resolve(argument)
        return items[int(index)]

    def _cidr(self, argument: Any) -> list[str]:
        block, count, host_bits = self.resolve(argument)
        network = ipaddress.IPv4Network(block)
        subnets = network.subnets(new_prefix=32 - int(host_bits))
        return [str(next(subnets)) for _ in range(int(count))]

    def _base64(self, argument: Any) -> str:
        return base64.b64encode(str(self.resolve(argument)).encode()).decode()

    def _to_json(self, argument: Any) -> str:
        return json.dumps(self.resolve(argument), separators=(",", ":"))

    def _substitute(self, argument: Any) -> str:
        text, given = argument if isinstance(argument, list) else (argument, {})
        variables = self.resolve(given)

        def value_of(match: re.Match[str]) -> str:
            name = match.group(1).strip()
            if name in variables:
                return _as_text(variables[name])
            return _as_text(self._attribute(name) if "." in name else self._ref(name))

        return _ESCAPED_PLACEHOLDER.sub(r"${\1}", _PLACEHOLDER.sub(value_of, text))


def function_name(value: dict[str, Any]) -> str | None:
    """Return the function that a one-key object calls, or None for ordinary data."""
    if len(value) != 1:
        return None
    (key,) = value
    return key if key == "Ref" or key.startswith("Fn::") else None


def _as_text(value: Any) -> str:
    """Write booleans as CloudFormation does when it compares or joins them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Referable(Protocol):
    """The source of answers to Ref and Fn::GetAtt of a resource."""

    @property
    def physical_id(self) -> str:
        """What Ref returns."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What Fn::GetAtt returns, by attribute name."""


class AccountView(Protocol):
    """A stack's view of what is outside of it."""

    def exported(self, name: str) -> str:
        """Return the value exported under `name`; raises TemplateError."""

    def stack_output(self, stack_name: str, region: str, output: str) -> str:
        """Return an output of another stack; raises TemplateError."""

    def zones(self, region: str) -> list[str]:
        """Return the availability zones of a region."""


@dataclass
class StackScope:
    """The names that one version of one stack's template can use."""

    template: Template
    pseudo_parameters: Mapping[str, str]
    parameters: Mapping[str, Any]
    resources: Mapping[str, Referable]
    """The resources as they are now; it may grow while the stack is being created."""
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
        """Return an attribute of a resource, as the resource has it now."""
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
        """Tell whether a condition holds; each is evaluated once."""
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


_SSM_VALUE = "AWS::SSM::Parameter::Value<"


def resolve_parameters(
    template: Template, given: Mapping[str, str], ssm_value: Callable[[str], str]
) -> dict[str, Any]:
    """Return the value of every parameter of the template, lists as lists.

    `ssm_value` reads the SSM parameter of a name. Raises TemplateError for unknown, missing and
    disallowed values.
    """
    declared = template.section("Parameters")
    unknown = sorted(given.keys() - declared.keys())
    if unknown:
        raise TemplateError(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    missing = [name for name in declared if name not in given and "Default" not in declared[name]]
    if missing:
        raise TemplateError(f"Parameters: [{', '.join(missing)}] must have values")
    return {
        name: _parameter_value(
            name, declaration, given.get(name, declaration.get("Default")), ssm_value
        )
        for name, declaration in declared.items()
    }


def _parameter_value(
    name: str, declaration: Mapping[str, Any], value: Any, ssm_value: Callable[[str], str]
) -> Any:
    text = str(value)
    allowed = [str(item) for item in declaration.get("AllowedValues", [])]
    if allowed and text not in allowed:
        raise TemplateError(f"Parameter {name} is {text!r}; allowed: {', '.join(allowed)}")
    kind = str(declaration["Type"])
    if kind.startswith(_SSM_VALUE):
        text = ssm_value(text)
    return text.split(",") if "List" in kind else text
