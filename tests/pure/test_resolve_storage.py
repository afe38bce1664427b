from __future__ import annotations

from typing import Any

import pytest

from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, ResolvedLustre, ResolvedOpenZfs, resolve
from tests.sound_environment import sound_data

EXISTING = {"id": "fs-0123456789abcdef0", "mount_name": "abcd1234"}


def resolved(storage: dict[str, Any], **changes: Any) -> Resolved:
    data = {**sound_data(), "storage": storage, **changes}
    return resolve(Reading(Environment.model_validate(data, strict=False)))


def lustre(**settings: Any) -> ResolvedLustre:
    (found,) = resolved({"lustre": settings}).lustre
    return found


def openzfs(**settings: Any) -> ResolvedOpenZfs:
    found = resolved({"lustre": None, "openzfs": settings}).openzfs
    assert found
    return found


class TestLustre:
    def test_the_main_one_comes_first(self) -> None:
        more = [{"name": name, "mount_path": f"/{name}"} for name in ("b", "a")]
        found = resolved({"lustre": {}, "additional_lustre": more}).lustre
        assert [each.name for each in found] == ["lustre", "b", "a"]

    def test_there_may_be_none(self) -> None:
        assert resolved({"lustre": None}).lustre == ()

    @pytest.mark.parametrize(
        ("settings", "throughput"),
        [
            ({}, 250),
            ({"throughput_mbps_per_tib": 125}, 125),
            ({"deployment_type": "PERSISTENT_1"}, 50),
            ({"deployment_type": "PERSISTENT_1", "storage_type": "HDD"}, 12),
            ({"deployment_type": "SCRATCH_2"}, None),
            ({"storage_type": "INTELLIGENT_TIERING"}, None),
        ],
    )
    def test_throughput_for_each_tib(
        self, settings: dict[str, Any], throughput: int | None
    ) -> None:
        assert lustre(**settings).throughput_mbps_per_tib == throughput

    def test_tiering_has_a_throughput_instead_of_a_capacity(self) -> None:
        found = lustre(storage_type="INTELLIGENT_TIERING")
        assert (found.capacity_gib, found.throughput_mbps) == (None, 4000)
        assert found.metadata_iops == 6000

    def test_others_have_a_capacity_instead_of_a_throughput(self) -> None:
        found = lustre(capacity_gib=2400)
        assert (found.capacity_gib, found.throughput_mbps) == (2400, None)
        assert found.metadata_iops is None

    @pytest.mark.parametrize(
        ("settings", "has_one"),
        [
            ({}, True),
            ({"version": "2.12"}, False),
            ({"deployment_type": "PERSISTENT_1"}, False),
            ({"deployment_type": "SCRATCH_2"}, False),
        ],
    )
    def test_metadata_configuration(self, settings: dict[str, Any], has_one: bool) -> None:
        assert lustre(**settings).has_metadata_configuration is has_one

    @pytest.mark.parametrize(
        ("settings", "addresses"),
        [
            ({"capacity_gib": 1200}, 1 + 1),
            ({"capacity_gib": 4800}, 1 + 2),
            ({"capacity_gib": 45_600}, 1 + 19),
            ({"capacity_gib": 48_000}, 2 + 20),
            ({"capacity_gib": 72_000}, 3 + 30),
            ({"capacity_gib": 48_000, "version": "2.12"}, 1 + 20),
            ({"capacity_gib": 48_000, "deployment_type": "PERSISTENT_1"}, 1 + 20),
            ({"capacity_gib": 1200, "metadata_iops": 12_000}, 1 + 1),
            ({"capacity_gib": 1200, "metadata_iops": 24_000}, 2 + 1),
            ({"capacity_gib": 38_400, "throughput_mbps_per_tib": 125, "efa": True}, 1 + 1),
            ({"capacity_gib": 38_400, "throughput_mbps_per_tib": 1000, "efa": True}, 1 + 8),
            (
                {"capacity_gib": 12_000, "deployment_type": "PERSISTENT_1", "storage_type": "HDD"},
                1 + 2,
            ),
            (
                {
                    "capacity_gib": 3600,
                    "deployment_type": "PERSISTENT_1",
                    "storage_type": "HDD",
                    "throughput_mbps_per_tib": 40,
                },
                1 + 2,
            ),
            ({"storage_type": "INTELLIGENT_TIERING"}, 1 + 1),
            ({"storage_type": "INTELLIGENT_TIERING", "throughput_mbps": 1000}, 1 + 1),
            ({"storage_type": "INTELLIGENT_TIERING", "metadata_iops": 24_000}, 2 + 1),
            ({"storage_type": "INTELLIGENT_TIERING", "metadata_iops": 0}, 1 + 1),
            ({"storage_type": "INTELLIGENT_TIERING", "throughput_mbps": 12_000}, 1 + 3),
            ({"existing": EXISTING}, 0),
        ],
    )
    def test_every_server_takes_an_address(self, settings: dict[str, Any], addresses: int) -> None:
        assert lustre(**settings).addresses == addresses


class TestOpenZfs:
    @pytest.mark.parametrize(
        ("deployment_type", "throughput", "addresses"),
        [
            ("SINGLE_AZ_1", 64, 1),
            ("SINGLE_AZ_2", 160, 1),
            ("SINGLE_AZ_HA_1", 64, 3),
            ("SINGLE_AZ_HA_2", 160, 3),
        ],
    )
    def test_least_throughput_and_servers(
        self, deployment_type: str, throughput: int, addresses: int
    ) -> None:
        found = openzfs(deployment_type=deployment_type)
        assert (found.throughput_mbps, found.addresses) == (throughput, addresses)

    def test_a_throughput_of_ones_own(self) -> None:
        assert openzfs(throughput_mbps=640).throughput_mbps == 640

    def test_an_existing_one_takes_no_address(self) -> None:
        assert openzfs(existing={"id": EXISTING["id"]}).addresses == 0


class TestNames:
    def test_only_an_existing_one_has_a_known_name(self) -> None:
        assert lustre().dns_name is None
        assert openzfs().dns_name is None
        expected = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
        assert lustre(existing=EXISTING).dns_name == expected
        assert openzfs(existing={"id": EXISTING["id"]}).dns_name == expected

    def test_china_has_its_own_domain(self) -> None:
        network = {"zone": "cn-north-1a"}
        storage = {"lustre": {"existing": EXISTING}}
        (found,) = resolved(storage, region="cn-north-1", network=network).lustre
        assert found.dns_name == "fs-0123456789abcdef0.fsx.cn-north-1.amazonaws.com.cn"


def test_all_file_systems_take_addresses_of_the_nodes_subnet() -> None:
    storage = {
        "lustre": {"capacity_gib": 2400},
        "additional_lustre": [{"name": "more", "mount_path": "/more", "capacity_gib": 4800}],
        "openzfs": {},
    }
    alone = resolved({"lustre": None}).network.private[0].addresses_needed
    together = resolved(storage).network.private[0].addresses_needed
    assert together - alone == (1 + 1) + (1 + 2) + 3
