"""Refresh the prices that come with slurmpod: `python -m tools.prices [REGION ...]`.

The AWS Price List API (`pricing:GetProducts`) is called with the credentials of the shell. Its
prices replace the earlier ones; prices that it does not return stay with their older date.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from slurmpod.aws.clients import clients_of
from slurmpod.aws.price_list import live_prices
from slurmpod.environment.regions import HYPERPOD_REGIONS
from slurmpod.plan.prices import (
    COLUMNS,
    PRICES_FILE,
    SOURCES_FILE,
    Price,
    all_bundled_prices,
)


def main(regions: Sequence[str]) -> None:
    """Query the prices of Regions, or of all with HyperPod, and write both files."""
    clients = clients_of("us-east-1")
    fresh = [price for region in regions for price in live_prices(clients, region)]
    write(refreshed(all_bundled_prices(), fresh), PRICES_FILE, SOURCES_FILE)
    sys.stdout.write(f"{len(fresh)} prices of {len(regions)} Regions are new\n")


def refreshed(known: Iterable[Price], fresh: Iterable[Price]) -> list[Price]:
    """Return all prices in order, one per item, detail and Region: the fresh one if available."""
    by_thing = {(p.item, p.detail, p.region): p for p in (*known, *fresh)}
    return [by_thing[thing] for thing in sorted(by_thing)]


def write(prices: Sequence[Price], prices_file: Path, sources_file: Path) -> None:
    """Write prices, and their sources: one for each text and date."""
    sources = dict.fromkeys(price.source for price in prices)
    rows = [(p.item, p.detail, p.region, p.usd, p.source.name) for p in prices]
    _write(prices_file, COLUMNS, rows)
    found = [(each.name, each.as_of, each.text) for each in sources]
    _write(sources_file, ("source", "as_of", "text"), sorted(found))


def _write(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:] or sorted(HYPERPOD_REGIONS))
