"""The prices that come with slurmpod, and how they are made anew."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from slurmpod.environment.catalog import instance_types
from slurmpod.environment.regions import HYPERPOD_REGIONS
from slurmpod.plan import prices as prices_module
from slurmpod.plan.prices import Item, all_bundled_prices, bundled_prices
from tests.pure.plan.planned import price
from tools.prices import refreshed, write

NODES = (Item.NODE, Item.EC2_NODE)


def test_every_price_is_of_something_that_there_is() -> None:
    for each in all_bundled_prices():
        assert each.region in HYPERPOD_REGIONS
        assert each.usd > 0
        assert (each.detail in instance_types()) == (each.item in NODES)


def test_nothing_has_two_prices() -> None:
    counted = Counter((each.item, each.detail, each.region) for each in all_bundled_prices())
    assert max(counted.values()) == 1


def test_every_source_has_a_date() -> None:
    assert {each.source.as_of[:2] for each in all_bundled_prices()} == {"20"}


def test_nodes_of_hyperpod_cost_more_than_those_of_ec2() -> None:
    """On this rests that EC2's price is shown as the least that a node costs."""
    known = bundled_prices("us-east-1")
    both = [
        each.usd / known[Item.EC2_NODE, detail].usd
        for (item, detail), each in known.items()
        if item is Item.NODE and (Item.EC2_NODE, detail) in known
    ]
    assert len(both) > 50
    assert min(both) > Decimal("1.1")


@pytest.mark.parametrize("instance_type", ["ml.p5e.48xlarge", "ml.trn2.48xlarge"])
def test_what_is_not_sold_on_demand_has_no_price(instance_type: str) -> None:
    assert not {each for each in all_bundled_prices() if each.detail == instance_type}


class TestRefresh:
    def test_takes_what_is_fresh_and_keeps_the_rest(self) -> None:
        old = [price(Item.NAT_GATEWAY, "", "0.045"), price(Item.NODE, "ml.m5.large", "0.115")]
        fresh = replace(old[0], usd=Decimal("0.05"))
        elsewhere = replace(old[0], region="us-east-1")
        assert refreshed(old, [fresh, elsewhere]) == [elsewhere, fresh, old[1]]

    def test_what_is_written_is_what_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files = tmp_path / "prices.csv", tmp_path / "price_sources.csv"
        write(refreshed(all_bundled_prices(), ()), *files)
        monkeypatch.setattr(prices_module, "PRICES_FILE", files[0])
        monkeypatch.setattr(prices_module, "SOURCES_FILE", files[1])
        assert sorted(all_bundled_prices.__wrapped__(), key=str) == sorted(
            all_bundled_prices(), key=str
        )
