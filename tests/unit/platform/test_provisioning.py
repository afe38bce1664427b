import json

import pytest

from slurmpod.rehearsal.cloud.platform import ClusterFailed
from slurmpod.rehearsal.platform.provisioning import FILE_NAME, read_provisioning

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

    def test_missing_file_fails_the_cluster(self) -> None:
        with pytest.raises(ClusterFailed, match="is missing beside"):
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
