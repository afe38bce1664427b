"""The real CDK CLI deploys, updates and destroys a closed environment in the embedded AWS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from embedded_aws.server import EmbeddedAws
from tests.cloud.embedded_aws_life import (
    APP,
    NEVER_ASK,
    Life,
    WatchedPlatform,
    remember,
    synthesize_variants,
)
from tests.cloud.embedded_stacks import ACCOUNT, REGION

STACKS = ("ClosedNetwork", "FileSystems", "Watch")


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """Deploy, change and destroy the environment, and look at it in between."""
    folder = tmp_path_factory.mktemp("closed") / "assemblies"
    synthesize_variants(folder, account=ACCOUNT, region=REGION, app=APP.with_name("closed.py"))
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(WatchedPlatform())
        life = Life(aws, folder, WatchedPlatform())
        for step, variant in (("deployed", "first"), ("updated", "updated")):
            life.cdk(step, "deploy", "--all", *NEVER_ASK, variant=variant)
            life.facts[step] = remember(life) | look_closer(life)
        life.cdk("destroyed", "destroy", "--all", "--force", variant="updated")
        life.facts["destroyed"] = remember(life) | look_closer(life)
        yield life


def look_closer(life: Life) -> dict[str, Any]:
    clients = life.aws.clients()
    own: Any = [{"Name": "cidr-block", "Values": ["100.64.*"]}]
    return {
        "subnets": clients.ec2.describe_subnets(Filters=own)["Subnets"],
        "endpoints": clients.ec2.describe_vpc_endpoints()["VpcEndpoints"],
        "links": clients.fsx.describe_data_repository_associations()["Associations"],
        "alarms": clients.service("cloudwatch").describe_alarms()["MetricAlarms"],
        "topics": clients.service("sns").list_topics()["Topics"],
        "rules": clients.service("events").list_rules()["Rules"],
        "secrets": clients.service("secretsmanager").list_secrets()["SecretList"],
    }


def by_id(facts: dict[str, Any], name: str) -> Any:
    (found,) = [
        system
        for system in facts["file systems"]
        if system["FileSystemId"] == facts["outputs"][f"{name}Id"]
    ]
    return found


def test_the_cdk_deploys_a_closed_environment(life: Life) -> None:
    facts = life.facts["deployed"]

    assert life.steps["deployed"].exit_status == 0, life.steps["deployed"].output
    assert facts["stacks"] == dict.fromkeys(STACKS, "CREATE_COMPLETE")
    assert len(facts["file systems"]) == 3
    assert len(facts["endpoints"]) == 7
    assert {subnet["AvailabilityZoneId"] for subnet in facts["subnets"]} == {"usw2-az1", "usw2-az2"}


def test_endpoints_and_file_systems_take_addresses(life: Life) -> None:
    free = {
        subnet["CidrBlock"]: subnet["AvailableIpAddressCount"]
        for subnet in life.facts["deployed"]["subnets"]
    }
    endpoints, homes, fast, large = 6, 3, 2, 2

    assert free == {
        "100.64.0.0/24": 251 - endpoints - homes - fast - large,
        "100.64.1.0/24": 251 - endpoints,
    }


def test_file_systems_change_in_place(life: Life) -> None:
    before, after = life.facts["deployed"], life.facts["updated"]

    assert life.steps["updated"].exit_status == 0, life.steps["updated"].output
    assert after["outputs"] == before["outputs"]
    assert by_id(after, "Homes")["StorageCapacity"] == 512
    assert by_id(after, "Fast")["StorageCapacity"] == 9600
    assert by_id(after, "Fast")["LustreConfiguration"]["MetadataConfiguration"]["Iops"] == 12000
    assert by_id(after, "Large")["LustreConfiguration"]["ThroughputCapacity"] == 8000
    assert [link["S3"]["AutoImportPolicy"]["Events"] for link in after["links"]] == [["NEW"]]
    assert [alarm["Threshold"] for alarm in after["alarms"]] == [2]


def test_a_closed_environment_goes_without_a_trace(life: Life) -> None:
    facts = life.facts["destroyed"]

    assert life.steps["destroyed"].exit_status == 0, life.steps["destroyed"].output
    left = {name: value for name, value in facts.items() if value}
    assert left == {}
