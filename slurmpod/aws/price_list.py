"""Current prices from the AWS Price List API; needs only `pricing:GetProducts`.

Attributes and usage types are those of AWS's own offer files (AmazonSageMaker of September 2026,
AmazonEC2, AmazonVPC, AmazonFSx). Reserved capacity, spot and other products have other usage types
and are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable, as_unavailable
from slurmpod.plan.prices import Item, Price, Source

SOURCE_NAME = "price-list-api"
PREFIX = r"(?:[A-Z0-9]+-)?"
"""Usage types begin with a short Region name, except for some services in us-east-1."""


@dataclass(frozen=True)
class Query:
    """A query for a service's products with these attributes, and a filter for the right ones.

    The group of `usage_type` is the detail of the price. `unit` is AWS's name of the unit.
    """

    item: Item
    service: str
    attributes: Mapping[str, str]
    usage_type: str
    unit: str = "Hrs"


QUERIES = (
    Query(Item.NODE, "AmazonSageMaker", {"component": "Cluster"}, r"Cluster:(ml\.[a-z0-9.-]+)"),
    Query(
        Item.ENDPOINT_INSTANCE,
        "AmazonSageMaker",
        {"component": "Hosting"},
        r"Host:(ml\.[a-z0-9.-]+)",
    ),
    Query(
        Item.NOTEBOOK_INSTANCE,
        "AmazonSageMaker",
        {"component": "Notebook"},
        r"Notebk:(ml\.[a-z0-9.-]+)",
    ),
    Query(Item.NAT_GATEWAY, "AmazonEC2", {"productFamily": "NAT Gateway"}, r"NatGateway-Hours()"),
    Query(
        Item.INTERFACE_ENDPOINT,
        "AmazonVPC",
        {"productFamily": "VpcEndpoint"},
        r"VpcEndpoint-Hours()",
    ),
    Query(
        Item.LUSTRE_GB_MONTH,
        "AmazonFSx",
        {
            "productFamily": "Storage",
            "fileSystemType": "Lustre",
            "operation": "CreateFileSystem:Lustre",
            "deploymentOption": "Single-AZ",
            "storageType": "SSD",
        },
        r"Storage(?:\.SSD\.([0-9]+))?",
        unit="GB-Mo",
    ),
)
RESERVED = "-Reserved"
"""Suffix of usage types of training plan capacity, which are sold on demand, too."""


def live_prices(clients: AwsClients, region: str) -> tuple[Price, ...]:
    """Return the current prices of one Region from the Price List API.

    Raises:
        AwsUnavailable: The API does not answer, or does not return exactly one price for an item.
    """
    with as_unavailable("ask for prices"):
        return tuple(price for query in QUERIES for price in _answers(clients, query, region))


def _answers(clients: AwsClients, query: Query, region: str) -> Iterator[Price]:
    wanted = {**query.attributes, "regionCode": region}
    pages = clients.pricing.get_paginator("get_products").paginate(
        ServiceCode=query.service,
        Filters=[
            {"Type": "TERM_MATCH", "Field": field, "Value": value}
            for field, value in wanted.items()
        ],
    )
    found: dict[str, Price] = {}
    for page in pages:
        for product in map(json.loads, page["PriceList"]):
            detail = _detail(query, product["product"]["attributes"])
            if detail is None:
                continue
            price = _price(query, detail, region, product)
            if found.setdefault(detail, price).usd != price.usd:
                raise AwsUnavailable(
                    f"AWS returned two prices for {query.item} {detail} in {region}"
                )
    yield from found.values()


def _detail(query: Query, attributes: Mapping[str, str]) -> str | None:
    """Return the detail that a product is priced for; None if it does not match."""
    usage_type = attributes.get("usagetype", "")
    if usage_type.endswith(RESERVED):
        return None
    found = re.fullmatch(PREFIX + query.usage_type, usage_type)
    return found[1] or "" if found else None


def _price(query: Query, detail: str, region: str, product: Mapping[str, Any]) -> Price:
    """Return the on-demand price of the first tier."""
    terms = product["terms"].get("OnDemand", {}).values()
    dimensions = [each for term in terms for each in term["priceDimensions"].values()]
    usd = {
        Decimal(each["pricePerUnit"]["USD"])
        for each in dimensions
        if each["unit"] == query.unit and each["beginRange"] == "0"
    }
    if len(usd) != 1 or not all(usd):
        raise AwsUnavailable(f"AWS returned no single price for {query.item} {detail} in {region}")
    as_of = product.get("publicationDate", "today")[:10]
    name = f"{SOURCE_NAME}-{query.service}-{as_of}"
    source = Source(name, as_of, f"AWS Price List API, {query.service}")
    return Price(query.item, detail, region, usd.pop(), source)
