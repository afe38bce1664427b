"""Exports and outputs that the stacks of an account share, and the stacks that use them.

Source: CloudFormation user guide, "Get exported outputs from a deployed CloudFormation stack":
names are unique within a Region, and imported values cannot be changed or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from embedded_aws.cloudformation.stack import Stack, Stacks
from embedded_aws.templates.template import TemplateError


class Neighbourhood:
    """One stack's view of the others during one operation; remembers what it imported."""

    def __init__(self, stacks: Stacks, stack: Stack, zones: Callable[[str], list[str]]) -> None:
        self.imported: frozenset[str] = frozenset()
        self._stacks = stacks
        self._stack = stack
        self._zones = zones

    def exported(self, name: str) -> str:
        """Return the value that a stack of the region exports as `name`."""
        self.imported |= {name}
        for stack in self._stacks.active(self._stack.region):
            if name in stack.exports:
                return stack.exports[name]
        raise TemplateError(f"No export named {name} found. Deploy the stack that exports it first")

    def stack_output(self, stack_name: str, region: str, output: str) -> str:
        """Return an output of another stack of the account."""
        for stack in self._stacks.active(region):
            if stack_name in (stack.name, stack.arn) and output in stack.outputs:
                return stack.outputs[output]
        raise TemplateError(
            f"Stack {stack_name} in {region} has no output {output}. Deploy it first"
        )

    def zones(self, region: str) -> list[str]:
        """Return the names of a region's availability zones."""
        return self._zones(region)

    def check_exports(self, exports: Mapping[str, str]) -> None:
        """Raise TemplateError if the stack cannot replace its exports with these."""
        for other in self._stacks.active(self._stack.region):
            for name in sorted(exports.keys() & other.exports.keys()):
                if other is not self._stack:
                    raise TemplateError(
                        f"Export with name {name} is already exported by stack {other.name}"
                    )
        for name, importer in self._stacks.importers(self._stack):
            if exports.get(name) != self._stack.exports[name]:
                verb = "update" if name in exports else "delete"
                raise TemplateError(f"Cannot {verb} export {name} as it is in use by {importer}")
