"""Which Regions pass: known ones, with a warning those that AWS may have added, and no others."""

from __future__ import annotations

import site
from pathlib import Path

import botocore.loaders
import botocore.session
import pytest

from slurmpod.environment.catalog import number_of_zone, offered_zone_ids
from slurmpod.environment.regions import (
    AWS_REGIONS,
    HYPERPOD_REGIONS,
    USUAL_ZONES,
    ZONES_OF_REGIONS,
    could_be_region,
    domain_of,
    partition_of,
)
from slurmpod.problems import Severity
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from tests.sound_environment import SOUND
from tools.facts.published import Published

PARTITIONS = tuple(botocore.session.get_session().get_available_partitions())


def found(region: str, more: str = "") -> list[tuple[str, Severity]]:
    text = SOUND.replace("us-west-2", region) + more
    return [(problem.rule, problem.severity) for problem in check(read_as("e.yaml", text))]


@pytest.mark.parametrize(
    "region",
    [
        "ca-west-1",
        "me-south-1",
        "mx-central-2",
        "us-west-4",
        "us-iso-east-1",
        "us-isob-west-1",
        "eusc-de-east-1",
        "eusc-fr-east-1",
        "nz-north-1",
    ],
)
def test_a_region_that_the_list_lacks_is_a_warning_that_can_be_accepted(region: str) -> None:
    others = [problem for problem in found(region) if problem[0] != "STO-007"]
    assert others == [("REG-004", Severity.WARNING)]
    accepted = "suppress:\n  - {rule: REG-004, reason: AWS lists it now}\n"
    assert ("REG-004", Severity.WARNING) not in found(region, accepted)


@pytest.mark.parametrize(
    "region",
    [
        "us-weast-2",
        "ux-west-2",
        "us-isx-east-1",
        "us-isoz-east-1",
        "us-west-9",
        "us-west-0",
        "nz-north-7",
    ],
)
def test_a_name_that_no_region_can_have_is_an_error(region: str) -> None:
    assert ("REG-001", Severity.ERROR) in found(region)


def test_hyperpod_came_to_canada() -> None:
    assert "REG-004" not in {rule for rule, _ in found("ca-central-1")}


def test_services_have_the_domain_of_their_partition() -> None:
    known = botocore.loaders.create_loader().load_data("endpoints")["partitions"]
    suffixes = {each["partition"]: each["dnsSuffix"] for each in known}
    assert {partition: suffixes[partition] for partition in PARTITIONS} == {
        partition: domain_of(partition) for partition in PARTITIONS
    }


def test_every_region_is_in_its_partition() -> None:
    session = botocore.session.get_session()
    for region in AWS_REGIONS:
        assert partition_of(region) == session.get_partition_for_region(region)


def test_no_zone_is_at_fault_where_the_region_is_none() -> None:
    loaded = read_as("e.yaml", SOUND.replace("region: us-west-2", "region: us-weast-2"))
    assert [problem.rule for problem in check(loaded)] == ["REG-001"]


def test_the_names_of_all_regions_are_possible() -> None:
    known = Published(Path(site.getsitepackages()[0])).regions()
    assert known == AWS_REGIONS
    assert known >= HYPERPOD_REGIONS
    assert {region for region in known if not could_be_region(region)} == set()


def test_no_known_zone_is_doubted() -> None:
    zones = [
        (region, zone)
        for by_region in offered_zone_ids().values()
        for region, zones in by_region.items()
        for zone in zones
    ]
    assert [
        zone
        for region, zone in zones
        if number_of_zone(zone) > ZONES_OF_REGIONS.get(region, USUAL_ZONES)
    ] == []


@pytest.mark.parametrize(
    ("zone", "rule", "fix"),
    [
        ("us-west-2g", "REG-006", "zones of us-west-2 are us-west-2a to us-west-2d"),
        ("usw2-az0", "REG-005", "zones of us-west-2 are usw2-az1 to usw2-az4"),
        ("us-west-2f", "REG-006", "zones of us-west-2 are us-west-2a to us-west-2d"),
    ],
)
def test_a_zone_that_the_region_lacks_is_told_with_those_that_it_has(
    zone: str, rule: str, fix: str
) -> None:
    (problem,) = check(read_as("e.yaml", SOUND.replace("zone: us-west-2b", f"zone: {zone}")))
    assert (problem.rule, problem.fix) == (rule, fix)
