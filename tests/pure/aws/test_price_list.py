"""Prices of today: requests that botocore's model of the Price List API takes, and its answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.price_list import live_prices
from slurmpod.plan.prices import Item, Price

Ask = Callable[..., tuple[Price, ...]]


def product(
    usage_type: str, *usd: str, unit: str = "Hrs", begin: str = "0", **attributes: str
) -> str:
    """Return a product as the API does: JSON in a text."""
    dimensions = {
        f"rate{number}": {"unit": unit, "beginRange": begin, "pricePerUnit": {"USD": each}}
        for number, each in enumerate(usd)
    }
    return json.dumps(
        {
            "product": {"attributes": {"usagetype": usage_type, **attributes}},
            "terms": {"OnDemand": {"term": {"priceDimensions": dimensions}}},
            "publicationDate": "2026-09-16T17:05:01Z",
        }
    )


def filters(**attributes: str) -> list[dict[str, str]]:
    return [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in attributes.items()
    ]


@pytest.fixture
def ask() -> Ask:
    """Ask for the prices of us-west-2 of an API that has these nodes, gateways and so on."""
    credentials = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nothing"}
    clients = AwsClients(boto3.session.Session(region_name="us-west-2", **credentials))  # type: ignore[arg-type]

    def answer(
        nodes: list[str] = [],  # noqa: B006
        nat: list[str] = [],  # noqa: B006
        endpoints: list[str] = [],  # noqa: B006
        lustre: list[str] = [],  # noqa: B006
        hosting: list[str] = [],  # noqa: B006
        notebooks: list[str] = [],  # noqa: B006
    ) -> tuple[Price, ...]:
        questions: list[tuple[str, dict[str, str], list[str]]] = [
            ("AmazonSageMaker", {"component": "Cluster"}, nodes),
            ("AmazonSageMaker", {"component": "Hosting"}, hosting),
            ("AmazonSageMaker", {"component": "Notebook"}, notebooks),
            ("AmazonEC2", {"productFamily": "NAT Gateway"}, nat),
            ("AmazonVPC", {"productFamily": "VpcEndpoint"}, endpoints),
            (
                "AmazonFSx",
                {
                    "productFamily": "Storage",
                    "fileSystemType": "Lustre",
                    "operation": "CreateFileSystem:Lustre",
                    "deploymentOption": "Single-AZ",
                    "storageType": "SSD",
                },
                lustre,
            ),
        ]
        with Stubber(clients.pricing) as stubber:
            for service, attributes, products in questions:
                wanted: dict[str, Any] = {
                    "ServiceCode": service,
                    "Filters": filters(**attributes, regionCode="us-west-2"),
                }
                stubber.add_response("get_products", {"PriceList": products}, wanted)
            return live_prices(clients, "us-west-2")

    return answer


def test_each_part_is_read_from_its_product(ask: Ask) -> None:
    found = ask(
        nodes=[product("USW2-Cluster:ml.g5.8xlarge", "3.06")],
        notebooks=[product("USW2-Notebk:ml.t3.medium", "0.05")],
        hosting=[product("USW2-Host:ml.g5.xlarge", "1.408")],
        nat=[
            product("USW2-NatGateway-Hours", "0.045"),
            product("USW2-RegionalNatGateway-Hours", "0.09"),
            product("USW2-NatGateway-Bytes", "0.045", unit="GB"),
        ],
        endpoints=[product("USW2-VpcEndpoint-Hours", "0.01")],
        lustre=[
            product("USW2-Storage.SSD.125", "0.145", unit="GB-Mo"),
            product("USW2-Storage", "0.14", unit="GB-Mo"),
            product("USW2-Storage-Cache.SSD", "0.2", unit="GB-Mo"),
        ],
    )
    assert {(each.item, each.detail): str(each.usd) for each in found} == {
        (Item.NODE, "ml.g5.8xlarge"): "3.06",
        (Item.ENDPOINT_INSTANCE, "ml.g5.xlarge"): "1.408",
        (Item.NOTEBOOK_INSTANCE, "ml.t3.medium"): "0.05",
        (Item.NAT_GATEWAY, ""): "0.045",
        (Item.INTERFACE_ENDPOINT, ""): "0.01",
        (Item.LUSTRE_GB_MONTH, "125"): "0.145",
        (Item.LUSTRE_GB_MONTH, ""): "0.14",
    }
    assert {(each.region, each.source.as_of) for each in found} == {("us-west-2", "2026-09-16")}


def test_the_price_list_answers_in_us_east_1() -> None:
    session = boto3.session.Session(region_name="eu-west-1")
    assert AwsClients(session).pricing.meta.region_name == "us-east-1"


def test_usage_types_without_a_region_count_and_reserved_ones_do_not(ask: Ask) -> None:
    nodes = [
        product("Cluster:ml.p5.48xlarge", "66.048"),
        product("Cluster:ml.p5.48xlarge-Reserved", "31.464"),
        product("USE1-Host:ml.p5.48xlarge", "63.296"),
    ]
    assert [each.usd for each in ask(nodes=nodes)] == [Decimal("66.048")]


@pytest.mark.parametrize(
    "nodes",
    [
        [product("Cluster:ml.m5.large", "0")],
        [product("Cluster:ml.m5.large", "0.1", "0.2")],
        [product("Cluster:ml.m5.large", "0.1"), product("Cluster:ml.m5.large", "0.2")],
        [product("Cluster:ml.m5.large")],
    ],
    ids=["nothing", "two rates", "two products", "no rate"],
)
def test_no_single_price_is_an_error_and_no_guess(ask: Ask, nodes: list[str]) -> None:
    with pytest.raises(AwsUnavailable, match=r"price.* for node ml\.m5\.large in us-west-2"):
        ask(nodes=nodes)


def test_who_may_not_ask_is_told_so() -> None:
    credentials = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nothing"}
    clients = AwsClients(boto3.session.Session(region_name="us-west-2", **credentials))  # type: ignore[arg-type]
    with Stubber(clients.pricing) as stubber:
        stubber.add_client_error("get_products", "AccessDeniedException", "not authorized")
        with pytest.raises(AwsUnavailable, match="cannot ask for prices: AccessDenied"):
            live_prices(clients, "us-west-2")
