"""Prices of one Region, each with its date and source; what nobody has told is not there."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
PRICES_FILE = DATA / "prices.csv"
SOURCES_FILE = DATA / "price_sources.csv"
COLUMNS = ("item", "detail", "region", "usd", "source")


class Item(StrEnum):
    """What has a price: USD per hour, but for file systems."""

    NODE = "node"
    """A node of HyperPod, on demand; the detail is its `ml.` type."""
    EC2_NODE = "ec2_node"
    """An EC2 instance of the same type, which has always cost less than the node of HyperPod."""
    ENDPOINT_INSTANCE = "endpoint_instance"
    """An instance of an endpoint; the detail is its `ml.` type."""
    NOTEBOOK_INSTANCE = "notebook_instance"
    """A notebook instance while it runs; the detail is its `ml.` type."""
    NAT_GATEWAY = "nat_gateway"
    INTERFACE_ENDPOINT = "interface_endpoint"
    """An endpoint in one zone."""
    LUSTRE_GB_MONTH = "lustre_gb_month"
    """Lustre on SSD, per GB and month; the detail is its throughput in MB/s per TiB, each of which
    only one deployment type has, and nothing for SCRATCH_2."""


@dataclass(frozen=True)
class Source:
    """Where a price was read: a name for tables, a date (or the year alone), and what it is."""

    name: str
    as_of: str
    text: str


@dataclass(frozen=True)
class Price:
    """The price of one item in one Region, in USD."""

    item: Item
    detail: str
    region: str
    usd: Decimal
    source: Source


Prices = Mapping[tuple[Item, str], Price]
"""The prices of one Region, by item and detail."""


def bundled_prices(region: str) -> Prices:
    """Return the prices that come with slurmpod; most Regions have some only."""
    return by_item(price for price in all_bundled_prices() if price.region == region)


def by_item(prices: Iterable[Price]) -> Prices:
    """Return prices of one Region by what they are of."""
    return {(each.item, each.detail): each for each in prices}


@cache
def all_bundled_prices() -> tuple[Price, ...]:
    """Return every row of `data/prices.csv`."""
    sources = {
        row["source"]: Source(row["source"], row["as_of"], row["text"])
        for row in _rows(SOURCES_FILE)
    }
    return tuple(
        Price(
            item=Item(row["item"]),
            detail=row["detail"],
            region=row["region"],
            usd=Decimal(row["usd"]),
            source=sources[row["source"]],
        )
        for row in _rows(PRICES_FILE)
    )


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        yield from csv.DictReader(opened)
