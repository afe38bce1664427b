"""Value classes are frozen dataclasses, whichever methods they share."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from typing import Any

import pytest

from slurmpod.value import Value


class Point(Value):
    """A place with a name."""

    x: int
    y: int = 0
    names: tuple[str, ...] = field(default_factory=tuple)
    secret: str = field(default="", repr=False)


class Pixel(Point):
    """A coloured place."""

    colour: str = "red"


class Beside(Value):
    """Another class with the same fields."""

    x: int
    y: int = 0
    names: tuple[str, ...] = ()
    secret: str = ""


@pytest.mark.parametrize(
    "point", [Point(1, 2, ("a",)), Point(names=("a",), x=1, y=2), Point(1, names=("a",), y=2)]
)
def test_fields_are_given_by_place_or_name(point: Point) -> None:
    assert (point.x, point.y, point.names) == (1, 2, ("a",))


def test_fields_have_defaults() -> None:
    assert Point(1) == Point(1, 0, (), "")


def test_a_derived_class_has_the_fields_of_its_base_first() -> None:
    assert Pixel(1, 2, (), "s", "blue") == Pixel(x=1, y=2, secret="s", colour="blue")


@pytest.mark.parametrize(
    ("values", "named", "said"),
    [
        ((), {"y": 2}, "Point has no x"),
        ((1,), {"z": 2}, "Point takes x, y, names, secret"),
        ((1,), {"x": 2}, "Point takes x, y, names, secret"),
        ((1, 2, (), "", 5), {}, "Point takes x, y, names, secret"),
    ],
)
def test_a_wrong_call_is_refused(values: tuple[Any, ...], named: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Point(*values, **named)


def test_values_do_not_change() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert point == Point(1)


def test_equal_values_of_one_class_are_equal() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1, 2) != Point(1, 3)
    assert Point(1) != Beside(1)
    assert Point(1) != Pixel(1)


def test_the_text_of_a_value_names_its_fields_but_for_hidden_ones() -> None:
    assert repr(Pixel(1, secret="x")) == "Pixel(x=1, y=0, names=(), colour='red')"


def test_the_standard_library_takes_values_as_dataclasses() -> None:
    assert [each.name for each in fields(Pixel)] == ["x", "y", "names", "secret", "colour"]
    assert replace(Point(1), y=5) == Point(1, 5)
    assert asdict(Point(1)) == {"x": 1, "y": 0, "names": (), "secret": ""}
    assert is_dataclass(Point(1))
    assert copy.deepcopy(Point(1)) == Point(1) == pickle.loads(pickle.dumps(Point(1)))  # noqa: S301
