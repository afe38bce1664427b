"""Template values without references: what a resource was made from, in ids. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Unknown(Exception):
    """A reference whose value nobody remembers; the text names it."""


class Memory(Protocol):
    """What one stack's references stood for; raises Unknown."""

    def ref(self, name: str) -> str:
        """Return what Ref gave."""

    def attribute(self, name: str, attribute: str) -> str:
        """Return what Fn::GetAtt gave."""


def literal(value: Any, memory: Memory, output: Callable[[str, str], str]) -> Any:
    """Return `value` with references replaced by what they stood for; other functions stay.

    `output` gives an output of another stack, by stack name and output name.

    Raises:
        Unknown: A reference cannot be replaced.
    """
    if isinstance(value, list):
        return [literal(item, memory, output) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((function, argument),) = value.items()
        if function == "Ref" and not argument.startswith("AWS::"):
            return memory.ref(argument)
        if function == "Fn::GetAtt":
            parts = argument.split(".", 1) if isinstance(argument, str) else argument
            return memory.attribute(*parts)
        if function == "Fn::GetStackOutput":
            return output(argument["StackName"], argument["OutputName"])
    return {key: literal(item, memory, output) for key, item in value.items()}
