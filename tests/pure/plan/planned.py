"""What the tests of plans share: an environment that was changed, and prices made up for it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from slurmpod.environment.environment import Environment
from slurmpod.plan.costs import Cost, costs
from slurmpod.plan.prices import Item, Price, Prices, Source, by_item
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import sound_data

SOURCE = Source("made-up", "2026-11-23", "this test")


def price(item: Item, detail: str, usd: str) -> Price:
    return Price(item, detail, "us-west-2", Decimal(usd), SOURCE)


PRICES: Prices = by_item(
    [
        price(Item.NODE, "ml.m5.large", "0.5"),
        price(Item.EC2_NODE, "ml.m5.large", "0.4"),
        price(Item.EC2_NODE, "ml.m5.xlarge", "0.8"),
        price(Item.NAT_GATEWAY, "", "0.05"),
        price(Item.INTERFACE_ENDPOINT, "", "0.01"),
        price(Item.LUSTRE_GB_MONTH, "250", "0.146"),
    ]
)


def resolved(**sections: Any) -> Resolved:
    environment = Environment.model_validate({**sound_data(), **sections}, strict=False)
    return resolve(Reading(environment))


def worker(**settings: Any) -> dict[str, Any]:
    """Return a cluster whose workers have these settings."""
    groups = sound_data()["cluster"]["groups"]
    return {"groups": [groups[0], {**groups[1], **settings}]}


def cost(name: str, prices: Prices = PRICES, **sections: Any) -> Cost:
    """Return the line of this name in the bill of an environment."""
    (found,) = (each for each in costs(resolved(**sections), prices) if each.name == name)
    return found
