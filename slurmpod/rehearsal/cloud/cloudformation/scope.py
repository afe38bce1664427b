"""What the functions of one stack's template can see: the `Scope` of a stack."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from slurmpod.rehearsal.cloud.cloudformation.intrinsics import NO_VALUE, Resolver
from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.cloudformation.template import Template


class Referable(Protocol):
    """What Ref and Fn::GetAtt of a resource are answered from."""

    @property
    def physical_id(self) -> str:
        """What Ref returns."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What Fn::GetAtt returns, by attribute name."""


class Surroundings(Protocol):
    """What a stack can see outside of itself."""

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
    surroundings: Surroundings
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
        return self.surroundings.exported(name)

    def stack_output(self, stack_name: str, region: str | None, output: str) -> str:
        """Return an output of another stack, by default of this region."""
        here = self.pseudo_parameters["AWS::Region"]
        return self.surroundings.stack_output(stack_name, region or here, output)

    def zones(self, region: str) -> list[str]:
        """Return the availability zones of a region."""
        return self.surroundings.zones(region)

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
