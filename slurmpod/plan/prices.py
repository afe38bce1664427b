"""Prices of one Region, each with its date and source; unknown prices are missing."""

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
    """Items with a price: USD per hour, except for file systems."""

    NODE = "node"
    """A node of HyperPod, on demand; the detail is its `ml.` type."""
    EC2_NODE = "ec2_node"
    """An EC2 instance of the same type, which has always been cheaper than the HyperPod node."""
    ENDPOINT_INSTANCE = "endpoint_instance"
    """An instance of an endpoint; the detail is its `ml.` type."""
    NOTEBOOK_INSTANCE = "notebook_instance"
    """A notebook instance while it runs; the detail is its `ml.` type."""
    NAT_GATEWAY = "nat_gateway"
    INTERFACE_ENDPOINT = "interface_endpoint"
    """An endpoint in one zone."""
    LUSTRE_GB_MONTH = "lustre_gb_month"
    """Lustre on SSD, per GB and month; the detail is its throughput in MB/s per TiB, which
    identifies the deployment type, and empty for SCRATCH_2.
    """


@dataclass(frozen=True)
class Source:
    """The source of a price: a name for tables, a date (or only the year), and a description."""

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
    """Return the prices shipped with slurmpod; incomplete for most Regions."""
    return by_item(price for price in all_bundled_prices() if price.region == region)


def by_item(prices: Iterable[Price]) -> Prices:
    """Return prices of one Region by item."""
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
