"""Changes whose effect depends on more than the field and its two values."""

from __future__ import annotations

from typing import Any

import pytest

from slurmpod.changes.effect import Kind
from tests.unit.changes.comparing import between, summary

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
    assert "AWS refuses that while something of yours lies in it" in going.effect.meaning


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
    ("mode", "kind"),
    [("customer", Kind.NEW_NODES), ("extended", Kind.REFUSED), ("managed", Kind.REFUSED)],
)
def test_a_partition_is_renamed_where_only_the_bundle_names_it(mode: str, kind: Kind) -> None:
    found = between(in_partition("cpu", mode), in_partition("gpu", mode))
    assert summary(found) == [("cluster.groups.workers.partition", kind)]


def test_a_partition_is_refused_together_with_another_mode() -> None:
    found = between(in_partition("cpu", "extended"), in_partition("gpu", "customer"))
    assert ("cluster.groups.workers.partition", Kind.REFUSED) in summary(found)


def test_a_network_that_is_closed_or_opened_loses_its_ways_out_and_no_subnet() -> None:
    opened, closed = ({"network": {"zone": "us-west-2b", "closed": each}} for each in (False, True))
    (closing,), (opening,) = between(opened, closed), between(closed, opened)
    assert summary([closing, opening]) == [("network.closed", Kind.IN_PLACE)] * 2
    assert "connections are cut" in closing.effect.meaning
    assert "interface endpoints go" in opening.effect.meaning
