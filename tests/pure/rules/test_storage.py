"""What the cases of the rules for storage do not show: borders, fixes and odd combinations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmpod.problems import Problem
from slurmpod.rules.areas import all_rules
from slurmpod.rules.check import check
from slurmpod.rules.data_buckets import mistake_in_bucket_name
from tests.sound_environment import sound_and, sound_data

AREAS = ("STO", "DAT", "MNT", "LUS", "TIE", "LAC", "DRA", "ZFS", "BKT")
RULES = [rule for rule in all_rules() if rule.id.startswith(AREAS)]
KEY = "arn:aws:kms:eu-west-1:210987654321:key/12345678-1234-1234-1234-123456789012"
EXISTING = {"id": "fs-0123456789abcdef0", "mount_name": "abcd1234"}
SQUASH = {"user": "65534:65534", "except_nids": ["10.0.128.5@tcp"]}


def problems(storage: dict[str, Any], **changes: Any) -> list[Problem]:
    """Return what the rules for storage find, and which of them failed."""
    return list(check(sound_and(storage=storage, **changes), RULES))


def ids(storage: dict[str, Any], **changes: Any) -> set[str]:
    return {problem.rule for problem in problems(storage, **changes)}


def lustre_ids(**given_settings: Any) -> set[str]:
    return ids({"lustre": given_settings})


def fix_of(rule: str, **given_settings: Any) -> str:
    (fix,) = (each.fix for each in problems({"lustre": given_settings}) if each.rule == rule)
    return fix


class TestCapacity:
    @pytest.mark.parametrize("gib", [1200, 2400, 4800, 7200, 1_200_000])
    def test_sizes_of_ssd(self, gib: int) -> None:
        assert lustre_ids(capacity_gib=gib) == set()

    @pytest.mark.parametrize(
        ("gib", "fix"),
        [
            (1201, "write 1200 or 2400"),
            (3600, "write 2400 or 4800"),
            (2401, "write 2400 or 4800"),
        ],
    )
    def test_other_sizes_of_ssd(self, gib: int, fix: str) -> None:
        assert fix_of("STO-001", capacity_gib=gib) == fix

    @pytest.mark.parametrize(("throughput", "gib"), [(12, 6000), (12, 18_000), (40, 1800)])
    def test_sizes_of_hdd(self, throughput: int, gib: int) -> None:
        assert "STO-001" not in lustre_ids(
            deployment_type="PERSISTENT_1",
            storage_type="HDD",
            throughput_mbps_per_tib=throughput,
            capacity_gib=gib,
        )

    @pytest.mark.parametrize(
        ("throughput", "gib", "fix"),
        [(12, 1200, "write 6000"), (12, 7000, "write 6000 or 12000"), (40, 1200, "write 1800")],
    )
    def test_other_sizes_of_hdd(self, throughput: int, gib: int, fix: str) -> None:
        hdd = {"deployment_type": "PERSISTENT_1", "storage_type": "HDD"}
        assert fix_of("STO-001", **hdd, throughput_mbps_per_tib=throughput, capacity_gib=gib) == fix


class TestThroughput:
    @pytest.mark.parametrize("mbps", [125, 250, 500, 1000])
    def test_of_persistent_2(self, mbps: int) -> None:
        assert lustre_ids(throughput_mbps_per_tib=mbps) == set()

    def test_the_fix_names_what_is_offered(self) -> None:
        fix = fix_of("LUS-002", deployment_type="PERSISTENT_1", throughput_mbps_per_tib=1000)
        assert fix == "write 50, 100 or 200"

    def test_where_none_is_taken_the_key_goes(self) -> None:
        fix = fix_of("LUS-002", deployment_type="SCRATCH_2", throughput_mbps_per_tib=200)
        assert fix == "remove the key"

    def test_an_impossible_storage_type_is_one_problem(self) -> None:
        assert lustre_ids(storage_type="HDD", throughput_mbps_per_tib=12) == {"LUS-001"}


class TestEfa:
    @pytest.mark.parametrize(
        ("throughput", "step"), [(125, 38_400), (250, 19_200), (500, 9600), (1000, 4800)]
    )
    def test_steps(self, throughput: int, step: int) -> None:
        efa = {"efa": True, "throughput_mbps_per_tib": throughput}
        assert "LAC-002" not in lustre_ids(**efa, capacity_gib=step)
        assert "LAC-002" not in lustre_ids(**efa, capacity_gib=2 * step)
        assert "LAC-002" in lustre_ids(**efa, capacity_gib=step + 2400)

    @pytest.mark.parametrize(
        ("group", "says"),
        [
            ({"instance_type": "ml.p5.48xlarge"}, None),
            ({"instance_types": ["ml.c5.large", "ml.p5.48xlarge"]}, None),
            ({"instance_types": ["ml.c5.large", "ml.p9.48xlarge"]}, None),  # not in the catalog
            ({"instance_type": "ml.c5.large"}, "no worker group has EFA"),
            (
                {"instance_type": "ml.p5.48xlarge", "zone": "us-west-2a"},
                "workers with EFA are in us-west-2a, the file system is in us-west-2b",
            ),
        ],
    )
    def test_workers_with_efa_are_in_the_zone_of_the_file_system(
        self, group: dict[str, Any], says: str | None
    ) -> None:
        data = sound_data()
        worker = {"name": "workers", "role": "worker", "count": 2, "partition": "cpu", **group}
        network = {"zone": "us-west-2b", "other_zones": [{"zone": "us-west-2a"}]}
        found = problems(
            {"lustre": {"efa": True}},
            network=network,
            cluster={"groups": [data["cluster"]["groups"][0], worker]},
        )
        assert [each.message for each in found if each.rule == "LAC-003"] == [says] * bool(says)

    def test_tiering_with_efa_has_no_capacity_to_judge(self) -> None:
        assert "LAC-002" not in lustre_ids(efa=True, storage_type="INTELLIGENT_TIERING")


class TestRootSquash:
    @pytest.mark.parametrize("user", ["1:1", "4294967294:65534"])
    def test_possible_ids(self, user: str) -> None:
        assert lustre_ids(root_squash={**SQUASH, "user": user}) == set()

    @pytest.mark.parametrize("user", ["0:1", "1:0", "4294967295:1", "9999999999:1"])
    def test_impossible_ids(self, user: str) -> None:
        assert lustre_ids(root_squash={**SQUASH, "user": user}) == {"LAC-005"}

    @pytest.mark.parametrize("nid", ["10.0.1.6@tcp", "10.0.[2-10].[1-255]@tcp"])
    def test_network_ids(self, nid: str) -> None:
        nids = [*SQUASH["except_nids"], nid]
        assert lustre_ids(root_squash={**SQUASH, "except_nids": nids}) == set()

    @pytest.mark.parametrize(
        "nid",
        [
            *("", "10.0.1.6", "10.0.1@tcp", "10.0.1.*@tcp", "10.0.1.6@tcp1", "10.0.1.6@tcp\n"),
            *("10.0.1.256@tcp", "10.0.[255-128].[0-255]@tcp", "10.0.[1-256].6@tcp"),
            "10.0.1.6.7@tcp",
        ],
    )
    def test_what_is_no_network_id(self, nid: str) -> None:
        assert lustre_ids(root_squash={**SQUASH, "except_nids": [nid]}) == {"LAC-006"}

    def test_scripts_of_ones_own_and_managed_mode_may_lock_root_out(self) -> None:
        storage = {"lustre": {"root_squash": {"user": "65534:65534"}}}
        assert "LAC-007" in ids(storage)
        assert "LAC-007" not in ids(storage, lifecycle={"mode": "managed"})


class TestExceptionsFromRootSquash:
    @pytest.mark.parametrize(
        "nids",
        [
            ["10.50.[128-255].[0-255]@tcp"],
            ["10.[0-255].[0-255].[0-255]@tcp"],
            ["10.50.[128-199].[0-255]@tcp", "10.50.[200-255].[0-255]@tcp"],
            ["10.50.[128-255].[0-127]@tcp", "10.50.[128-255].[128-255]@tcp"],
            ["10.50.128.[4-255]@tcp", "10.50.[129-254].[0-255]@tcp", "10.50.255.[0-254]@tcp"],
            ["10.50.128.5@tcp"],  # the user knows this node
        ],
    )
    def test_they_reach_the_controller(self, nids: list[str]) -> None:
        assert self.of(nids) == []

    @pytest.mark.parametrize(
        "nids",
        [
            [],
            ["10.0.[128-255].[0-255]@tcp"],
            ["10.0.128.5@tcp"],
            ["10.50.[129-255].[0-255]@tcp"],
            ["10.50.[128-199].[0-255]@tcp", "10.50.[201-255].[0-255]@tcp"],
            ["10.50.[128-255].[0-127]@tcp", "10.50.[128-254].[128-255]@tcp"],
        ],
    )
    def test_the_fix_names_a_range_that_does(self, nids: list[str]) -> None:
        (problem,) = self.of(nids)
        assert problem.rule == "LAC-007"
        assert problem.fix == "add 10.50.[128-255].[0-255]@tcp to except_nids"
        assert self.of([*nids, problem.fix.split()[1]]) == []

    @pytest.mark.parametrize("prefix", range(17, 29))
    def test_the_range_of_any_subnet_is_its_own(self, prefix: int) -> None:
        network = {"private_subnet_cidr": f"10.50.128.0/{prefix}"}
        (problem,) = self.of([], **network)
        assert self.of([problem.fix.split()[1]], **network) == []

    def test_subnets_of_unknown_ranges_are_not_judged(self) -> None:
        subnet = {"id": "subnet-0a1b2c3d4e5f60718", "zone": "us-west-2b"}
        existing = {"vpc_id": "vpc-0a1b2c3d4e5f60718", "subnets": [subnet]}
        assert self.of(["10.0.128.5@tcp"], vpc_cidr=None, existing=existing) == []
        subnet["cidr"] = "10.9.0.0/24"
        (problem,) = self.of(["10.0.128.5@tcp"], vpc_cidr=None, existing=existing)
        assert problem.fix == "add 10.9.0.[0-255]@tcp to except_nids"

    def of(self, nids: list[str], **network: Any) -> list[Problem]:
        squash = {"user": "65534:65534", "except_nids": nids}
        network = {"zone": "us-west-2b", "vpc_cidr": "10.50.0.0/16", **network}
        return problems({"lustre": {"root_squash": squash}}, network=network)


class TestOpenZfs:
    @pytest.mark.parametrize(
        ("deployment_type", "iops", "is_possible"),
        [
            ("SINGLE_AZ_2", 767, False),
            ("SINGLE_AZ_2", 768, True),
            ("SINGLE_AZ_2", 400_000, True),
            ("SINGLE_AZ_1", 160_000, True),
            ("SINGLE_AZ_1", 160_001, False),
        ],
    )
    def test_operations_of_256_gib(
        self, deployment_type: str, iops: int, is_possible: bool
    ) -> None:
        found = ids({"openzfs": {"deployment_type": deployment_type, "iops": iops}})
        assert ("ZFS-002" not in found) is is_possible

    def test_a_capacity_that_brings_too_many_has_no_range_to_offer(self) -> None:
        settings = {"deployment_type": "SINGLE_AZ_1", "capacity_gib": 60_000, "iops": 180_000}
        (found,) = (each for each in problems({"openzfs": settings}) if each.rule == "ZFS-002")
        assert found.fix == "remove the key: the default is 3 for each GiB"


class TestTiering:
    def test_the_cache_has_borders_for_each_server(self) -> None:
        tiering = {"storage_type": "INTELLIGENT_TIERING", "throughput_mbps": 8000}
        for gib in (64, 262_144):
            assert lustre_ids(**tiering, read_cache_gib=gib) == set()
        for gib in (63, 262_145):
            assert lustre_ids(**tiering, read_cache_gib=gib) == {"TIE-004"}

    @pytest.mark.parametrize(
        ("mbps", "fix"),
        [
            (1500, "write 1000 or 2000"),
            (3000, "write 2000 or 4000"),
            (10_000, "write 8000 or 12000"),
        ],
    )
    def test_throughputs_beside_those_that_fsx_has(self, mbps: int, fix: str) -> None:
        assert fix_of("TIE-003", storage_type="INTELLIGENT_TIERING", throughput_mbps=mbps) == fix

    @pytest.mark.parametrize("iops", [1500, 3000, 6000, 24_000, 192_000, 0])
    def test_metadata_operations(self, iops: object) -> None:
        tiering = {"storage_type": "INTELLIGENT_TIERING", "throughput_mbps": 1000}
        assert lustre_ids(**tiering, metadata_iops=iops) == set()

    def test_it_needs_nothing_but_its_name(self) -> None:
        assert lustre_ids(storage_type="INTELLIGENT_TIERING") == set()


class TestExisting:
    def test_rules_for_creation_do_not_speak_of_it(self) -> None:
        found = lustre_ids(
            existing=EXISTING, capacity_gib=3600, kms_key_arn=KEY, on_delete="delete"
        )
        assert found == {"STO-004"}

    def test_every_setting_is_reported_at_its_key(self) -> None:
        settings_for_creation = {"compression": "NONE", "capacity_gib": 1200}
        found = problems({"lustre": {"existing": EXISTING, **settings_for_creation}})
        assert [each.where.path for each in found] == [
            "storage.lustre.capacity_gib",
            "storage.lustre.compression",
        ]


class TestMounts:
    @pytest.mark.parametrize(
        "folder",
        [
            *("/usr/local/data", "/etc/fsx", "/opt/ml", "/opt/slurm", "/opt/sagemaker/data"),
            *("/proc/fs", "/opt/aws-ofi-nccl", "/opt/slurm-25.11", "/opt/sagemaker_cluster"),
        ],
    )
    def test_folders_of_others(self, folder: str) -> None:
        assert lustre_ids(mount_path=folder) == {"STO-003"}

    @pytest.mark.parametrize(
        "folder", ["/fsx", "/home/shared", "/opt/data", "/opt/mlflow", "/opt/awsdata", "/srv/x"]
    )
    def test_folders_that_can_be_used(self, folder: str) -> None:
        assert lustre_ids(mount_path=folder) == set()

    def test_a_name_that_only_begins_alike_is_not_inside(self) -> None:
        more = [{"name": "more", "mount_path": "/fsx2"}]
        assert ids({"additional_lustre": more}) == set()


class TestRepositories:
    @pytest.mark.parametrize(
        ("one", "other", "overlap"),
        [
            ("/a", "/b", False),
            ("/a", "/ab", False),
            ("/a", "/a", True),
            ("/a/b", "/a", True),
            ("/", "/a", True),
        ],
    )
    def test_folders_that_overlap(self, one: str, other: str, overlap: bool) -> None:
        repositories = [
            {"path": path, "s3_uri": f"s3://my-data/{index}/"}
            for index, path in enumerate((one, other))
        ]
        assert ("DRA-001" in lustre_ids(data_repositories=repositories)) is overlap

    def test_scratch_can_have_them(self) -> None:
        repositories = [{"path": "/a", "s3_uri": "s3://my-data"}]
        found = lustre_ids(deployment_type="SCRATCH_2", data_repositories=repositories)
        assert found == {"LUS-010"}


class TestBucketNames:
    @pytest.mark.parametrize("name", ["abc", "my-data", "a.b-c.1", "a" * 63])
    def test_possible(self, name: str) -> None:
        assert mistake_in_bucket_name(name) is None

    @pytest.mark.parametrize(
        "name",
        [
            "ab",
            "a" * 64,
            "a..b",
            "my-data-",
            "my-data.",
            "10.0.0.1",
            "xn--a",
            "sthree-a",
            "a-s3alias",
            "a.mrap",
        ],
    )
    def test_impossible(self, name: str) -> None:
        assert mistake_in_bucket_name(name)


LUSTRE = st.fixed_dictionaries(
    {},
    optional={
        "mount_path": st.sampled_from(["/fsx", "/home", "/a/b", "/a", "/opt/ml"]),
        "existing": st.none() | st.just(EXISTING),
        "deployment_type": st.sampled_from(["PERSISTENT_2", "PERSISTENT_1", "SCRATCH_2"]),
        "storage_type": st.sampled_from(["SSD", "HDD", "INTELLIGENT_TIERING"]),
        "capacity_gib": st.integers(1200, 10**9),
        "throughput_mbps_per_tib": st.sampled_from([12, 40, 50, 100, 125, 200, 250, 500, 1000]),
        "throughput_mbps": st.integers(1000, 2_000_000),
        "read_cache_gib": st.integers(32, 10**9),
        "drive_cache": st.booleans(),
        "version": st.sampled_from(["2.10", "2.12", "2.15"]),
        "metadata_iops": st.integers(1500, 192_000),
        "efa": st.booleans(),
        "kms_key_arn": st.just(KEY),
        "backups": st.just({}),
        "root_squash": st.builds(
            lambda user, nids: {"user": user, "except_nids": nids},
            st.from_regex(r"[0-9]{1,10}:[0-9]{1,10}", fullmatch=True),
            st.lists(st.text(max_size=20), max_size=3),
        ),
        "data_repositories": st.lists(
            st.builds(
                lambda path, uri: {"path": path, "s3_uri": uri},
                st.sampled_from(["/", "/a", "/a/b", "/c"]),
                st.from_regex(r"s3://[a-z0-9][a-z0-9.-]{1,8}(/[a-z]{0,3})?", fullmatch=True),
            ),
            max_size=4,
        ),
        "on_delete": st.sampled_from(["retain", "delete"]),
    },
)
OPENZFS = st.fixed_dictionaries(
    {},
    optional={
        "mount_path": st.sampled_from(["/home", "/fsx", "/a"]),
        "existing": st.none() | st.just({"id": EXISTING["id"]}),
        "deployment_type": st.sampled_from(["SINGLE_AZ_1", "SINGLE_AZ_HA_2"]),
        "throughput_mbps": st.integers(64, 10_240),
        "iops": st.integers(192, 400_000),
    },
)
S3_MOUNT = st.builds(
    lambda bucket, folder: {"bucket": bucket, "mount_path": folder},
    st.from_regex(r"[a-z0-9][a-z0-9.-]{1,8}[a-z0-9]", fullmatch=True),
    st.sampled_from(["/a", "/a/b", "/fsx", "/var"]),
)
STORAGE = st.fixed_dictionaries(
    {},
    optional={
        "lustre": st.none() | LUSTRE,
        "additional_lustre": st.lists(
            st.builds(
                lambda name, lustre: {"mount_path": "/fsx", **lustre, "name": name},
                st.sampled_from(["lustre", "a-b", "ab", "a--b"]),
                LUSTRE,
            ),
            max_size=3,
        ),
        "openzfs": st.none() | OPENZFS,
        "s3_mounts": st.lists(S3_MOUNT, max_size=3),
    },
)


@settings(max_examples=150)
@given(STORAGE, st.sampled_from(["customer", "extended", "managed"]), st.booleans())
def test_no_rule_fails_whatever_is_combined(
    storage: dict[str, Any], mode: str, protected: bool
) -> None:
    found = check(sound_and(storage=storage, lifecycle={"mode": mode}, protected=protected))
    assert "RUL-001" not in {problem.rule for problem in found}
