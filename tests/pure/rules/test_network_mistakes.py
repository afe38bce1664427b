"""Mistakes come together: rules for networks judge whatever is well-formed, and are right."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmpod.problems import Severity
from slurmpod.resolve import resolve
from slurmpod.rules.areas import all_rules
from slurmpod.rules.check import check
from tests.networks import VARIANTS, ZONES, new_vpcs, odd_networks
from tests.sound_environment import sound_and, sound_data

ADDRESS_IDS = {"NET-003", "NET-004", "NET-005", "NET-007", "BLK-002"}
ADDRESS_RULES = [rule for rule in all_rules() if rule.id in ADDRESS_IDS]

ZONES_OF_GROUPS = st.lists(st.sampled_from([None, *ZONES]), min_size=2, max_size=2)


def with_zones(zones: list[str | None]) -> dict[str, Any]:
    cluster: dict[str, Any] = sound_data()["cluster"]
    for group, zone in zip(cluster["groups"], zones, strict=True):
        if zone:
            group["zone"] = zone
    return cluster


@settings(max_examples=150)
@given(odd_networks(), ZONES_OF_GROUPS)
def test_mistakes_together_are_problems_and_no_crash(
    network: dict[str, Any], zones: list[str | None]
) -> None:
    found = check(sound_and(network=network, cluster=with_zones(zones)))
    assert [problem for problem in found if problem.rule == "RUL-001"] == []


@settings(max_examples=150)
@given(odd_networks())
def test_what_the_rules_let_through_has_sound_subnets(network: dict[str, Any]) -> None:
    reading = sound_and(network=network)
    if check(reading, ADDRESS_RULES):
        return
    resolved = resolve(reading).network
    subnets = [each.cidr for each in (*resolved.public, *resolved.private) if each.cidr]
    assert not any(one.overlaps(other) for one, other in combinations(subnets, 2))
    if not resolved.existing:
        assert all(any(cidr.subnet_of(b) for b in resolved.known_cidrs) for cidr in subnets)


@given(new_vpcs())
def test_subnets_that_were_not_chosen_are_never_wrong(network: dict[str, Any]) -> None:
    assert check(sound_and(network=network), ADDRESS_RULES) == ()


@pytest.mark.parametrize("name", VARIANTS)
def test_the_variants_of_the_tests_have_no_errors(name: str) -> None:
    found = check(sound_and(network=VARIANTS[name]))
    assert [problem for problem in found if problem.severity is Severity.ERROR] == []
