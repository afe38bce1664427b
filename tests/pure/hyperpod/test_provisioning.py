import json

import pytest

from embedded_aws.cluster import ClusterFailed, FileSystemMount
from slurmpod.rehearsal.hyperpod.provisioning import (
    FILE_NAME,
    DownloadedBundle,
    SharedDatabase,
    provisioning_of,
    read_provisioning,
)
from tests.pure.hyperpod.clusters import ON_INIT_COMPLETE, group, slurm

GROUPS = ("head", "login", "gpu", "cpu")


def bundle(**changes: object) -> dict[str, bytes]:
    document = {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": "head",
        "login_group": "login",
        "worker_groups": [
            {"instance_group_name": "gpu", "partition_name": "p5"},
            {"instance_group_name": "cpu", "partition_name": "cpu"},
        ],
        **changes,
    }
    return {FILE_NAME: json.dumps(document).encode()}


class TestReadProvisioning:
    def test_tells_the_groups_apart(self) -> None:
        provisioning = read_provisioning(bundle(), GROUPS)
        assert provisioning.controller_group == "head"
        assert provisioning.login_group == "login"
        assert provisioning.partitions == {"gpu": "p5", "cpu": "cpu"}

    def test_needs_no_login_group(self) -> None:
        assert read_provisioning(bundle(login_group=None), GROUPS).login_group is None

    def test_knows_the_database_that_several_controllers_share(self) -> None:
        database = {
            "slurm_database_endpoint": "db.example",
            "slurm_database_secret_arn": "arn:secret",
        }
        found = read_provisioning(bundle(slurm_configurations=database), GROUPS).database
        assert found == SharedDatabase("db.example", "arn:secret", "admin")
        named = {**database, "slurm_database_user": "slurm"}
        found = read_provisioning(bundle(slurm_configurations=named), GROUPS).database
        assert found == SharedDatabase("db.example", "arn:secret", "slurm")

    def test_knows_the_file_system_that_scripts_mount(self) -> None:
        named = bundle(fsx_dns_name="fs-1.fsx", fsx_mountname="abcdefgh")
        (mount,) = read_provisioning(named, GROUPS).mounts
        assert mount == FileSystemMount("lustre", "fs-1.fsx@tcp:/abcdefgh", "/fsx")
        assert read_provisioning(bundle(fsx_dns_name="fs-1.fsx"), GROUPS).mounts == ()

    def test_missing_file_fails_the_cluster(self) -> None:
        with pytest.raises(ClusterFailed, match="is missing from"):
            read_provisioning({"on_create.sh": b""}, GROUPS)

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b"null", b'{"controller_group": "head"}', b'"x"']
    )
    def test_unreadable_file_fails_the_cluster(self, content: bytes) -> None:
        with pytest.raises(ClusterFailed, match="cannot be read"):
            read_provisioning({FILE_NAME: content}, GROUPS)

    def test_group_that_the_cluster_lacks_fails_it_by_name(self) -> None:
        with pytest.raises(ClusterFailed, match="does not have: hed"):
            read_provisioning(bundle(controller_group="hed"), GROUPS)


PLACED = (
    group("head", slurm=slurm("Controller")),
    group("login", slurm=slurm("Login"), lifecycle=ON_INIT_COMPLETE),
    group("gpu", slurm=slurm("Compute", "p5")),
)


def downloaded(**files: bytes) -> DownloadedBundle:
    return DownloadedBundle(files, "/tmp/b/p", "extend.sh")  # noqa: S108


class TestProvisioningOf:
    def test_the_api_says_it_all(self) -> None:
        provisioning = provisioning_of(PLACED, {"login": downloaded()})
        assert provisioning.controller_group == "head"
        assert provisioning.login_group == "login"
        assert provisioning.partitions == {"gpu": "p5"}
        assert provisioning.file is None

    def test_without_it_the_file_does(self) -> None:
        groups = [group(name) for name in GROUPS]
        files = {"head": DownloadedBundle(bundle(), "/tmp/b/p", "on_create.sh")}  # noqa: S108
        provisioning = provisioning_of(groups, files)
        assert provisioning.partitions == {"gpu": "p5", "cpu": "cpu"}
        assert provisioning.file == bundle()[FILE_NAME]

    def test_both_together_fail_the_cluster_in_hyperpods_words(self) -> None:
        with pytest.raises(ClusterFailed, match="cannot include both a SLURM Orchestrator Config"):
            provisioning_of(PLACED, {"login": downloaded(**bundle())})
