"""What FSx refuses or replaces for what else is true of a file system."""

from __future__ import annotations

from typing import Any

import pytest

from slurmpod.environment.base import Kind
from tests.pure.changes.comparing import between, summary

EFA = {"efa": True, "capacity_gib": 38400}
HDD = {"deployment_type": "PERSISTENT_1", "storage_type": "HDD", "capacity_gib": 18000}
TIERING = {"storage_type": "INTELLIGENT_TIERING"}


def lustre(**keys: Any) -> dict[str, Any]:
    return {"storage": {"lustre": keys}}


def linked(**links: str) -> dict[str, Any]:
    """Return a file system with a link for each keyword, which is its folder."""
    repositories = [
        {"path": f"/{path.replace('_', '/')}", "s3_uri": uri} for path, uri in links.items()
    ]
    return lustre(data_repositories=repositories)


@pytest.mark.parametrize(
    ("others", "key", "old", "new", "kind"),
    [
        ({}, "throughput_mbps_per_tib", 125, 250, Kind.IN_PLACE),
        (EFA, "throughput_mbps_per_tib", 125, 250, Kind.REFUSED),
        (EFA, "throughput_mbps_per_tib", None, 500, Kind.REFUSED),
        (HDD, "throughput_mbps_per_tib", 12, 40, Kind.REFUSED),
        ({"capacity_gib": 1200}, "metadata_iops", 12000, None, Kind.REFUSED),
        ({"capacity_gib": 1200}, "metadata_iops", 1500, None, Kind.IN_PLACE),
        ({"capacity_gib": 24000}, "metadata_iops", 12000, None, Kind.IN_PLACE),
        ({"capacity_gib": 24000}, "metadata_iops", None, 1500, Kind.REFUSED),
        ({"capacity_gib": 4800}, "metadata_iops", None, 6000, Kind.IN_PLACE),
        ({"capacity_gib": 96000}, "metadata_iops", None, 36000, Kind.REFUSED),
        ({"capacity_gib": 96000}, "metadata_iops", None, 48000, Kind.IN_PLACE),
        (TIERING, "metadata_iops", 12000, None, Kind.REFUSED),
        (TIERING, "read_cache_gib", 1000, 1099, Kind.REFUSED),
        (TIERING, "read_cache_gib", 1000, 901, Kind.REFUSED),
        (TIERING, "read_cache_gib", 1000, 1100, Kind.IN_PLACE),
        (TIERING, "read_cache_gib", 1000, 0, Kind.IN_PLACE),
        (TIERING, "read_cache_gib", 0, 32, Kind.IN_PLACE),
        (TIERING, "read_cache_gib", 0, None, Kind.IN_PLACE),
    ],
)
def test_fsx_refuses_some_values_for_others(
    others: dict[str, Any], key: str, old: object, new: object, kind: Kind
) -> None:
    found = between(lustre(**others, **{key: old}), lustre(**others, **{key: new}))
    assert summary(found) == [(f"storage.lustre.{key}", kind)]
    assert (found[0].old, found[0].new) == (old, new)


def test_an_additional_file_system_is_found_by_its_name() -> None:
    first, cold = ({"name": name, "mount_path": f"/{name}"} for name in ("first", "cold"))
    old, new = (
        {
            "storage": {
                "additional_lustre": [first, {**cold, **HDD, "throughput_mbps_per_tib": mbps}]
            }
        }
        for mbps in (12, 40)
    )
    (change,) = between(old, new)
    assert change.path == "storage.additional_lustre.cold.throughput_mbps_per_tib"
    assert change.new_path[:3] == ("storage", "additional_lustre", 1)
    assert change.effect.kind is Kind.REFUSED


def test_a_file_system_that_comes_is_one_change_in_place() -> None:
    cold = {"name": "cold", "mount_path": "/cold", **HDD}
    found = between({}, {"storage": {"lustre": {}, "additional_lustre": [cold]}})
    assert summary(found) == [("storage.additional_lustre.cold", Kind.IN_PLACE)]
    none = {"storage": {"lustre": None}}
    assert summary(between(none, lustre())) == [("storage.lustre", Kind.IN_PLACE)]


def test_a_file_system_that_is_made_anew_begins_with_any_values() -> None:
    old = lustre(**EFA, throughput_mbps_per_tib=125, metadata_iops=None)
    new = lustre(capacity_gib=38400, throughput_mbps_per_tib=250, metadata_iops=1500)
    assert set(summary(between(old, new))) == {
        ("storage.lustre.efa", Kind.REPLACES),
        ("storage.lustre.throughput_mbps_per_tib", Kind.IN_PLACE),
        ("storage.lustre.metadata_iops", Kind.IN_PLACE),
    }


@pytest.mark.parametrize(
    ("old", "new", "more", "kind"),
    [
        (1000, 1010, {}, Kind.REFUSED),
        (1000, 1099, {}, Kind.REFUSED),
        (1000, 1100, {}, Kind.IN_PLACE),
        (1000, 990, {}, Kind.REFUSED),
        (1000, 1010, {"compression": "LZ4"}, Kind.IN_PLACE),
    ],
)
def test_openzfs_grows_by_a_tenth_at_least(
    old: int, new: int, more: dict[str, str], kind: Kind
) -> None:
    found = between(
        {"storage": {"openzfs": {"capacity_gib": old}}},
        {"storage": {"openzfs": {"capacity_gib": new, **more}}},
    )
    assert ("storage.openzfs.capacity_gib", kind) in summary(found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": "s3://data/in"}, {"b": "s3://data/in"}),
        ({"a": "s3://data/in"}, {"b": "s3://data/in/"}),
        ({"a": "s3://data/in"}, {"b": "s3://data/in/2026"}),
        ({"a": "s3://data/in"}, {"b": "s3://data"}),
        ({"a": "s3://data/in"}, {"a_b": "s3://other"}),
        ({"a": "s3://data/in", "c": "s3://data/c"}, {"c": "s3://data/c", "b": "s3://data/in"}),
    ],
)
def test_a_link_does_not_take_the_place_of_another_in_one_step(
    old: dict[str, str], new: dict[str, str]
) -> None:
    """CloudFormation makes the new one first, and FSx takes no two that overlap."""
    gone, come = "storage.lustre.data_repositories./a", list(new)[-1].replace("_", "/")
    assert summary(between(linked(**old), linked(**new))) == [
        (f"storage.lustre.data_repositories./{come}", Kind.REFUSED),
        (gone, Kind.IN_PLACE),
    ]


@pytest.mark.parametrize("uri", ["s3://data/in2", "s3://other/in"])
def test_a_link_beside_one_that_goes_is_welcome(uri: str) -> None:
    found = between(linked(a="s3://data/in"), linked(ab=uri))
    assert {change.effect.kind for change in found} == {Kind.IN_PLACE}
