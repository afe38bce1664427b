"""Mistakes come together: rules for networks judge whatever is well-formed, and are right."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmpod.problems import Problem, Severity
from slurmpod.reading.read import Reading, read_as
from slurmpod.resolve import resolve
from slurmpod.rules.check import check
from tests.networks import VARIANTS, ZONES, new_vpcs, odd_networks
from tests.sound_environment import sound_data

ADDRESS_RULES = {"NET-003", "NET-004", "NET-005", "NET-007", "BLK-002"}

ZONES_OF_GROUPS = st.lists(st.sampled_from([None, *ZONES]), min_size=2, max_size=2)


def with_network(network: dict[str, Any], zones: list[str | None] | None = None) -> dict[str, Any]:
    data = {**sound_data(), "network": network}
    for group, zone in zip(data["cluster"]["groups"], zones or [], strict=False):
        if zone:
            group["zone"] = zone
    return data


def problems(data: dict[str, Any]) -> tuple[Problem, ...]:
    return check(read_as("dev.yaml", yaml.safe_dump(data)))


@settings(max_examples=150)
@given(odd_networks(), ZONES_OF_GROUPS)
def test_mistakes_together_are_problems_and_no_crash(
    network: dict[str, Any], zones: list[str | None]
) -> None:
    found = problems(with_network(network, zones))
    assert [problem for problem in found if problem.rule in {"RUL-001", "ENV-004"}] == []


@settings(max_examples=150)
@given(odd_networks())
def test_what_the_rules_let_through_has_sound_subnets(network: dict[str, Any]) -> None:
    data = with_network(network)
    if ADDRESS_RULES & {problem.rule for problem in problems(data)}:
        return
    environment = read_as("dev.yaml", yaml.safe_dump(data)).environment
    assert environment is not None
    resolved = resolve(Reading(environment)).network
    subnets = [each.cidr for each in (*resolved.public, *resolved.private) if each.cidr]
    assert not any(one.overlaps(other) for one, other in combinations(subnets, 2))
    if not resolved.existing:
        assert all(any(cidr.subnet_of(b) for b in resolved.known_cidrs) for cidr in subnets)


@given(new_vpcs())
def test_subnets_that_were_not_chosen_are_never_wrong(network: dict[str, Any]) -> None:
    found = {problem.rule for problem in problems(with_network(network))}
    assert not ADDRESS_RULES & found


@pytest.mark.parametrize("name", VARIANTS)
def test_the_variants_of_the_tests_have_no_errors(name: str) -> None:
    found = problems(with_network(VARIANTS[name]))
    assert [problem for problem in found if problem.severity is Severity.ERROR] == []
