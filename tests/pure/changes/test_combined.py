"""Changes whose effect depends on more than the field and its two values."""

from __future__ import annotations

from typing import Any

import pytest

from slurmpod.changes import combined
from slurmpod.environment.base import Effect, Kind, effect_of
from slurmpod.environment.descriptions import all_sections
from tests.networks import EXISTING
from tests.pure.changes.comparing import between, changed, summary
from tests.served import served
from tests.sound_environment import sound_data

EXTENDED = {"lifecycle": {"mode": "extended"}}
PINNED = {"zone": "us-west-2b", "private_subnet_cidr": "10.0.128.0/17"}
ONE, TWO, THREE = "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"
BLOCKS = "network.secondary_cidrs"


def blocks(*cidrs: str) -> dict[str, Any]:
    return {"network": {**PINNED, "secondary_cidrs": list(cidrs)}}


@pytest.mark.parametrize("old", [(), (ONE,)])
def test_blocks_come_and_go_at_the_end_of_the_list(old: tuple[str, ...]) -> None:
    few, many = blocks(*old), blocks(*old, TWO)
    (coming,), (going,) = between(few, many), between(many, few)
    assert summary([coming, going]) == [(BLOCKS, Kind.IN_PLACE)] * 2
    assert "AWS refuses while it is in use" in going.effect.meaning


@pytest.mark.parametrize(
    ("old", "new"), [((ONE, TWO), (TWO,)), ((ONE, TWO), (TWO, ONE)), ((ONE,), (THREE,))]
)
def test_blocks_cannot_take_each_others_places(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    (change,) = between(blocks(*old), blocks(*new))
    assert (change.path, change.effect.kind) == (BLOCKS, Kind.REFUSED)
    assert (change.old, change.new) == ([*old], [*new])


def test_a_block_into_which_the_nodes_would_move_is_refused_for_their_subnet() -> None:
    without, with_block = (
        {"network": {"zone": "usw2-az1", **each}} for each in ({}, {"secondary_cidrs": [ONE]})
    )
    for old, new in ((without, with_block), (with_block, without)):
        assert set(summary(between(old, new))) == {
            (BLOCKS, Kind.IN_PLACE),
            ("network.private_subnet_cidr", Kind.REFUSED),
        }


def in_partition(name: str, mode: str) -> dict[str, Any]:
    workers = {"name": "workers", "role": "worker", "instance_type": "ml.m5.xlarge"}
    return {
        "cluster": {"groups": [{**workers, "partition": name}]},
        "lifecycle": {"mode": mode},
    }


@pytest.mark.parametrize(
    ("mode", "word"),
    [
        ("customer", "reads the file"),
        ("extended", "strategy Merge"),
        ("managed", "strategy Merge"),
    ],
)
def test_a_partition_is_renamed_by_who_writes_slurm_conf(mode: str, word: str) -> None:
    (change,) = between(in_partition("cpu", mode), in_partition("gpu", mode))
    assert summary([change]) == [("cluster.groups.workers.partition", Kind.NEW_NODES)]
    assert (change.old, change.new) == ("cpu", "gpu")
    assert change.new_path == ("cluster", "groups", 0, "partition")
    assert word in change.effect.meaning


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("customer", "extended", Kind.LOSES),
        ("customer", "managed", Kind.LOSES),
        ("extended", "managed", Kind.NEW_NODES),
        ("managed", "extended", Kind.NEW_NODES),
        ("extended", "customer", Kind.REFUSED),
        ("managed", "customer", Kind.REFUSED),
    ],
)
def test_the_way_to_hyperpods_slurm_goes_in_place_and_only_forward(
    old: str, new: str, kind: Kind
) -> None:
    (change,) = between({"lifecycle": {"mode": old}}, {"lifecycle": {"mode": new}})
    assert summary([change]) == [("lifecycle.mode", kind)]
    assert ("Migrating to API-driven" in change.effect.source) == ("customer" in (old, new))
    assert ("no way back" in change.effect.meaning) == (old == "customer")


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [("standard", "continuous", Kind.LOSES), ("continuous", "standard", Kind.REFUSED)],
)
def test_continuous_provisioning_begins_in_place_and_does_not_end(
    old: str, new: str, kind: Kind
) -> None:
    standard, other = (
        {"cluster": {**sound_data()["cluster"], "provisioning": each}, **EXTENDED}
        for each in (old, new)
    )
    (change,) = between(standard, other)
    assert summary([change]) == [("cluster.provisioning", kind)]
    assert bool(change.effect.doubt) == (new == "continuous")


def test_whatever_refuses_or_replaces_says_who_says_so_or_that_nobody_does() -> None:
    told = (effect_of(f) for section in all_sections() for f in section.model_fields.values())
    here = (each for each in vars(combined).values() if isinstance(each, Effect))
    effects = {each for effect in (*told, *here) for each in cases_of(effect)}
    refused = [each for each in effects if each.kind in (Kind.REFUSED, Kind.REPLACES)]
    assert len(refused) > 20  # the loop above has found them
    assert [each.meaning for each in refused if not each.source and not each.doubt] == []


def cases_of(effect: Effect) -> list[Effect]:
    others = (effect.less, effect.removed, effect.in_customer_mode)
    return [effect, *(each for each in others if each)]


def test_a_network_that_is_closed_or_opened_loses_its_ways_out_and_no_subnet() -> None:
    opened, closed = ({"network": {"zone": "us-west-2b", "closed": each}} for each in (False, True))
    (closing,), (opening,) = between(opened, closed), between(closed, opened)
    assert summary([closing, opening]) == [("network.closed", Kind.IN_PLACE)] * 2
    assert "connections are cut" in closing.effect.meaning
    assert "interface endpoints are removed" in opening.effect.meaning


ZONES = "network.other_zones"


def zones(*names: str, **network: Any) -> dict[str, Any]:
    """Return a network whose subnets have ranges of their own, as far as they are in `names`."""
    cidrs = {"a": "10.0.192.0/20", "c": "10.0.208.0/20", "d": "10.0.224.0/20"}
    others = [{"zone": f"us-west-2{name}", "private_subnet_cidr": cidrs[name]} for name in names]
    pinned = {"zone": "us-west-2b", "private_subnet_cidr": "10.0.128.0/18"}
    return {"network": {**pinned, "other_zones": others, **network}}


@pytest.mark.parametrize("old", [(), ("a",)])
def test_zones_come_and_go_at_the_end_of_the_list(old: tuple[str, ...]) -> None:
    few, many = zones(*old), zones(*old, "c")
    (coming,), (going,) = between(few, many), between(many, few)
    assert summary([coming, going]) == [(f"{ZONES}.us-west-2c", Kind.IN_PLACE)] * 2


@pytest.mark.parametrize(
    ("old", "new"), [("ac", "ca"), ("ac", "c"), ("c", "ac"), ("a", "c"), ("acd", "ad")]
)
def test_zones_cannot_take_each_others_places(old: str, new: str) -> None:
    found = {change.path: change for change in between(zones(*old), zones(*new))}
    assert found[ZONES].effect.kind is Kind.REFUSED
    assert "at the end of the list only" in found[ZONES].effect.meaning
    shown = [[f"us-west-2{name}" for name in names] for names in (old, new)]
    assert [found[ZONES].old, found[ZONES].new] == shown


def test_zones_of_another_network_take_nobodys_place() -> None:
    existing = {"network": {"zone": "usw2-az1", "existing": EXISTING}}
    own = {"network": {"zone": "usw2-az1", "other_zones": [{"zone": "usw2-az3"}]}}
    for old, new in ((existing, own), (own, existing)):
        assert "network.existing" in {change.path for change in between(old, new)}
        assert not any("end of the list" in each.effect.meaning for each in between(old, new))


def test_a_small_vpc_has_no_room_for_further_public_subnets() -> None:
    small = {"vpc_cidr": "10.0.0.0/22", "nat": "per_zone"}
    ranges = [
        {"zone": "us-west-2a", "private_subnet_cidr": "10.0.3.0/25"},
        {"zone": "us-west-2c", "private_subnet_cidr": "10.0.3.128/25"},
    ]
    first = {"zone": "us-west-2b", "private_subnet_cidr": "10.0.2.0/24"}
    old, new = ({"network": {**first, **small, "other_zones": ranges[:count]}} for count in (1, 2))
    found = {change.path: change for change in between(old, new)}
    assert found[ZONES].effect.kind is Kind.REFUSED
    assert "larger vpc_cidr" in found[ZONES].effect.meaning
    assert (found[ZONES].old, found[ZONES].new) == (["us-west-2a"], ["us-west-2a", "us-west-2c"])


BUDGET = {"budget": {"monthly_usd": 100, "emails": ["a@example.com"]}}


@pytest.mark.parametrize(("stays", "kind"), [({}, Kind.IN_PLACE), (BUDGET, Kind.LOSES)])
def test_monitoring_that_goes_takes_all_along_if_a_budget_keeps_its_stack(
    stays: dict[str, Any], kind: Kind
) -> None:
    watched = {"monitoring": {"notify": {"critical": {"emails": ["ops@example.com"]}}}}
    assert ("monitoring", kind) in summary(between({**watched, **stays}, stays))


SCALING = {"max_instances": 4, "invocations_per_instance": 60}


@pytest.mark.parametrize(
    ("before", "kind"), [({}, Kind.IN_PLACE), ({"scaling": SCALING}, Kind.REFUSED)]
)
def test_an_endpoint_that_is_scaled_keeps_its_type(before: dict[str, Any], kind: Kind) -> None:
    types = ("ml.g5.xlarge", "ml.g5.2xlarge")
    (change,) = changed(*(served(instance_type=name, **before) for name in types))
    assert (change.path, change.effect.kind) == ("services.endpoint.instance_type", kind)
    assert (change.old, change.new) == types
