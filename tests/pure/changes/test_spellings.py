"""Environments that come to the same do not differ, however they are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.changes.expanded import written_out
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.expand import plain
from slurmpod.environment.base import Kind
from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import resolve
from tests.environment_files import FILES
from tests.pure.changes.comparing import between, changed, summary


def environment_from(data: dict[str, Any]) -> Environment:
    return Environment.model_validate(data, strict=False)


def leaves(old: Any, new: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places where two environments of one form are written differently."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            yield from leaves(old[key], new[key], (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, each in enumerate(old):
            yield from leaves(each, new[index], (*path, index))
    elif old != new:
        yield path


def put(data: Any, path: tuple[Any, ...], value: Any) -> None:
    for part in path[:-1]:
        data = data[part]
    data[path[-1]] = value


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        data = data[part]
    return data


@pytest.mark.parametrize("file", FILES.values(), ids=list(FILES))
class TestEveryEnvironment:
    def test_does_not_differ_from_itself_with_all_its_files(self, file: Path) -> None:
        resolved = sound_environment(file).resolved
        assert changed(resolved, resolved) == []

    def test_does_not_differ_when_everything_is_written_out(self, file: Path) -> None:
        original = resolve(Reading(sound_environment(file).environment))
        written = resolve(Reading(environment_from(written_out(original))))
        assert plain(written) == plain(original)
        assert changed(original, written) == changed(written, original) == []

    def test_does_not_differ_when_one_more_value_is_written_out(self, file: Path) -> None:
        original = resolve(Reading(sound_environment(file).environment))
        everything = written_out(original)
        dumped = original.environment.model_dump(mode="json")
        places = list(leaves(dumped, everything))
        assert places
        for place in places:
            data = original.environment.model_dump(mode="json")
            put(data, place, at(everything, place))
            written = resolve(Reading(environment_from(data)))
            assert changed(original, written) == changed(written, original) == [], place


TIERING = {"storage_type": "INTELLIGENT_TIERING"}
ROLE = "arn:aws:iam::123456789012:role/"
WORKERS: dict[str, Any] = {
    "name": "workers",
    "role": "worker",
    "instance_type": "ml.m5.xlarge",
    "partition": "cpu",
}


def workers(**keys: Any) -> dict[str, Any]:
    return {"cluster": {"groups": [{**WORKERS, **keys}]}}


def network(**keys: Any) -> dict[str, Any]:
    return {"network": {"zone": "us-west-2b", **keys}}


def lustre(**keys: Any) -> dict[str, Any]:
    return {"storage": {"lustre": keys}}


def roles(**keys: Any) -> dict[str, Any]:
    return {"identity": {"existing": {"controller": f"{ROLE}nodes", **keys}}}


def rds(**keys: Any) -> dict[str, Any]:
    return {"slurm": {"rds": keys}}


@pytest.mark.parametrize(
    ("silent", "same", "other", "path", "kind"),
    [
        (
            network(),
            network(vpc_cidr="10.0.0.0/16"),
            network(vpc_cidr="10.1.0.0/16", private_subnet_cidr="10.0.128.0/17"),
            "network.vpc_cidr",
            Kind.REFUSED,
        ),
        (
            network(),
            network(private_subnet_cidr="10.0.128.0/17"),
            network(private_subnet_cidr="10.0.192.0/18"),
            "network.private_subnet_cidr",
            Kind.REFUSED,
        ),
        (network(), network(nat="one"), network(nat="none"), "network.nat", Kind.IN_PLACE),
        (
            workers(),
            workers(threads_per_core=2),
            workers(threads_per_core=1),
            "cluster.groups.workers.threads_per_core",
            Kind.REFUSED,
        ),
        (
            workers(),
            workers(zone="us-west-2b"),
            workers(zone="us-west-2c"),
            "cluster.groups.workers.zone",
            Kind.REFUSED,
        ),
        (
            lustre(),
            lustre(throughput_mbps_per_tib=250),
            lustre(throughput_mbps_per_tib=500),
            "storage.lustre.throughput_mbps_per_tib",
            Kind.IN_PLACE,
        ),
        (
            lustre(**TIERING),
            lustre(**TIERING, throughput_mbps=4000),
            lustre(**TIERING, throughput_mbps=8000),
            "storage.lustre.throughput_mbps",
            Kind.IN_PLACE,
        ),
        (
            lustre(**TIERING),
            lustre(**TIERING, metadata_iops=6000),
            lustre(**TIERING, metadata_iops=12000),
            "storage.lustre.metadata_iops",
            Kind.IN_PLACE,
        ),
        (
            {"storage": {"openzfs": {}}},
            {"storage": {"openzfs": {"throughput_mbps": 160}}},
            {"storage": {"openzfs": {"throughput_mbps": 320}}},
            "storage.openzfs.throughput_mbps",
            Kind.IN_PLACE,
        ),
        (
            roles(),
            roles(worker=f"{ROLE}nodes"),
            roles(worker=f"{ROLE}workers"),
            "identity.existing.worker",
            Kind.IN_PLACE,
        ),
        (
            rds(storage_gib=50),
            rds(storage_gib=50, max_storage_gib=100),
            rds(storage_gib=50, max_storage_gib=200),
            "slurm.rds.max_storage_gib",
            Kind.IN_PLACE,
        ),
        (
            {},
            {"lifecycle": {"entry_script": "on_create.sh"}},
            {"lifecycle": {"entry_script": "start.sh"}},
            "lifecycle.entry_script",
            Kind.NEW_NODES,
        ),
        (
            workers(role="login"),
            {**workers(role="login"), "access": {"user_groups": ["workers"]}},
            {**workers(role="login"), "access": {"user_groups": ["controller"]}},
            "access.user_groups",
            Kind.IN_PLACE,
        ),
        (
            {},
            {"access": {"home_directory": "/fsx/home"}},
            {"access": {"home_directory": "/fsx/people"}},
            "access.home_directory",
            Kind.NEW_NODES,
        ),
        (
            network(interface_endpoints=["ecr.api", "sts"]),
            network(interface_endpoints=["sts", "ecr.api"]),
            network(interface_endpoints=["sts"]),
            "network.interface_endpoints",
            Kind.IN_PLACE,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_to_write_what_is_so_anyway_changes_nothing_and_another_value_does(
    silent: dict[str, Any], same: dict[str, Any], other: dict[str, Any], path: str, kind: Kind
) -> None:
    assert between(silent, same) == between(same, silent) == []
    for old in (silent, same):
        assert summary(between(old, other)) == [(path, kind)]


def test_a_subnet_that_is_written_as_it_is_stays_when_a_small_zone_comes() -> None:
    more = {"zone": "us-west-2c", "private_subnet_cidr": "10.0.112.0/28"}
    wanted = network(private_subnet_cidr="10.0.128.0/17", other_zones=[more])
    assert summary(between(network(), wanted)) == [
        ("network.other_zones.us-west-2c", Kind.IN_PLACE)
    ]


def test_a_group_that_stays_in_its_zone_while_the_others_move_is_no_change_of_its_own() -> None:
    zones = {"other_zones": [{"zone": "us-west-2c"}]}
    old, new = (network(**zones) | workers(zone=zone) for zone in (None, "us-west-2b"))
    assert between(old, new) == []
    (change,) = between(old, network(**zones) | workers(zone="us-west-2c"))
    assert (change.old, change.new) == (None, "us-west-2c")
