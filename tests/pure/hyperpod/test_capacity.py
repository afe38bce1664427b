"""Which nodes get an instance while there are too few."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.rehearsal.hyperpod.capacity import Capacity, Shortage
from tests.pure.hyperpod.clusters import node

NODES = [node("cpu", f"10.0.0.{number}") for number in range(3)]


@pytest.fixture
def shortage(tmp_path: Path) -> Shortage:
    return Shortage(tmp_path)


@pytest.fixture
def capacity(shortage: Shortage) -> Capacity:
    return Capacity(shortage)


def taken(capacity: Capacity) -> list[bool]:
    return [capacity.take(each) for each in NODES]


def test_there_are_as_many_as_anybody_wants_unless_somebody_says_otherwise(
    capacity: Capacity,
) -> None:
    assert taken(capacity) == [True, True, True]


def test_the_first_ones_get_what_there_is_and_keep_it(
    capacity: Capacity, shortage: Shortage
) -> None:
    shortage.limit("cpu", 2)
    assert taken(capacity) == taken(capacity) == [True, True, False]
    shortage.limit("cpu", 0)
    assert taken(capacity) == [True, True, False]


def test_more_come_one_by_one(capacity: Capacity, shortage: Shortage) -> None:
    shortage.limit("cpu", 1)
    taken(capacity)
    shortage.limit("cpu", 2)
    assert taken(capacity) == [True, True, False]
    shortage.end()
    assert taken(capacity) == [True, True, True]


def test_one_that_has_ended_has_to_wait_for_another(capacity: Capacity, shortage: Shortage) -> None:
    taken(capacity)
    shortage.limit("cpu", 2)
    capacity.give_back(NODES[0])
    assert taken(capacity) == [False, True, True]


def test_a_shortage_is_of_one_group_and_of_its_hours(
    capacity: Capacity, shortage: Shortage
) -> None:
    shortage.limit("cpu", 0, hours_are_over=True)
    shortage.limit("gpu", 0)
    assert (capacity.hours_are_over("cpu"), capacity.hours_are_over("gpu")) == (True, False)
    assert capacity.take(node("login", "10.0.0.9"))


def test_a_plan_ends_until_the_shortage_does(shortage: Shortage) -> None:
    shortage.limit("cpu", 2)
    shortage.end_plan("arn:plan")
    assert (shortage.ends_plan("arn:plan"), shortage.ends_plan("arn:other")) == (True, False)
    assert shortage.most("cpu") == 2
    shortage.end()
    assert not shortage.ends_plan("arn:plan")
