"""The base of value classes: frozen dataclasses that share their methods."""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from typing import Any, ClassVar, NoReturn, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Value:
    """A frozen dataclass for modules that brief commands load.

    `@dataclass(frozen=True)` generates six methods and compiles them at every start of Python. For
    a hundred classes that took a sixth of the time of `slurmpod validate`. Subclasses are
    dataclasses, too (`fields`, `replace` and `asdict` take them), and inherit their methods.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    __match_args__: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(init=False, repr=False, eq=False)(cls)

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self.__dataclass_fields__
        given = dict(zip(self.__match_args__, values, strict=False), **named)
        count = len(values) + len(named)
        if count != len(fields) or given.keys() != fields.keys():
            self._complete(given, count)
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        shown = [name for name, each in self.__dataclass_fields__.items() if each.repr]
        values = ", ".join(f"{name}={self.__dict__[name]!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    def _values(self) -> tuple[Any, ...]:
        return tuple(map(self.__dict__.__getitem__, self.__dataclass_fields__))

    def _complete(self, given: dict[str, Any], count: int) -> None:
        """Add defaults; raises TypeError if one of `count` values is given twice or unknown."""
        fields = self.__dataclass_fields__
        each_once = len(given) == count
        for name in fields.keys() - given.keys():
            given[name] = self._default(fields[name])
        if not each_once or len(given) > len(fields):
            raise TypeError(f"{type(self).__name__} takes {', '.join(fields)}; given: {given}")

    def _default(self, missing: Field[Any]) -> Any:
        if missing.default is not MISSING:
            return missing.default
        if missing.default_factory is not MISSING:
            return missing.default_factory()
        raise TypeError(f"{type(self).__name__} has no {missing.name}")
