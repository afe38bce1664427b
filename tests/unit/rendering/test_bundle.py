from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest

from slurmpod.model.loader import load_text
from slurmpod.rendering import Placeholder, bundle, render_bundle
from slurmpod.resolve import Resolved, resolve

if TYPE_CHECKING:
    from pathlib import Path

YAML = """
name: dev
account: "123456789012"
region: us-west-2
network: {zone: us-west-2b}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: door, role: login, instance_type: ml.m5.large}
    - {name: hands, role: worker, instance_type: ml.m5.large, count: 2, partition: cpu}
"""


def resolved(yaml: str = YAML) -> Resolved:
    environment = load_text("test.yaml", yaml).environment
    assert environment is not None
    return resolve(environment)


def rendered(path: str, yaml: str = YAML) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(render_bundle(resolved(yaml)).files[path])
    return data


class TestRenderedFiles:
    def test_provisioning_parameters_are_what_hyperpod_documents(self) -> None:
        assert rendered("provisioning_parameters.json") == {
            "version": "1.0.0",
            "workload_manager": "slurm",
            "controller_group": "head",
            "login_group": "door",
            "worker_groups": [{"instance_group_name": "hands", "partition_name": "cpu"}],
            "fsx_dns_name": "@FILE_SYSTEM_DNS_NAME@",
            "fsx_mountname": "@FILE_SYSTEM_MOUNT_NAME@",
        }

    def test_settings_are_what_the_scripts_read(self) -> None:
        assert rendered("settings.json") == {
            "cluster_name": "dev",
            "region": "us-west-2",
            "roles": {"head": "controller", "door": "login", "hands": "worker"},
            "file_system": {
                "dns_name": "@FILE_SYSTEM_DNS_NAME@",
                "mount_name": "@FILE_SYSTEM_MOUNT_NAME@",
                "mount_path": "/fsx",
            },
            "accounting": True,
            "step_timeout_seconds": 600,
        }

    def test_a_cluster_without_login_nodes_names_no_login_group(self) -> None:
        without_login = "".join(
            line for line in YAML.splitlines(keepends=True) if "door" not in line
        )
        assert "login_group" not in rendered("provisioning_parameters.json", without_login)

    def test_both_wait_for_values_of_the_deployment(self) -> None:
        result = render_bundle(resolved())
        assert result.deploy_time_files == ("provisioning_parameters.json", "settings.json")
        for path in result.deploy_time_files:
            assert all(placeholder in result.files[path].decode() for placeholder in Placeholder)


class TestBundle:
    def test_holds_the_scripts_sorted(self) -> None:
        files = render_bundle(resolved()).files
        assert {"on_create.sh", "slurmpod_lifecycle/__main__.py"} < set(files)
        assert list(files) == sorted(files)

    def test_holds_nothing_that_tools_leave_beside_scripts(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(bundle, "SCRIPTS", tmp_path)
        before = render_bundle(resolved())
        for path in ("__pycache__/x.cpython-311.pyc", ".mypy_cache/x.json", "on_create.sh~"):
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text("left over")
        assert render_bundle(resolved()) == before

    def test_has_unix_line_ends_only(self) -> None:
        files = render_bundle(resolved()).files
        assert not [path for path, content in files.items() if b"\r" in content]

    def test_is_the_same_every_time(self) -> None:
        assert render_bundle(resolved()) == render_bundle(resolved())

    def test_lies_in_a_folder_named_by_its_content(self) -> None:
        result = render_bundle(resolved())
        assert result.prefix == f"lifecycle/{result.digest}"
        assert len(result.digest) == 12

    @pytest.mark.parametrize("change", ["partition: gpu", "partition: cpu, threads_per_core: 1"])
    def test_digest_changes_exactly_when_the_content_does(self, change: str) -> None:
        before = render_bundle(resolved())
        after = render_bundle(resolved(YAML.replace("partition: cpu", change)))
        assert (before.digest == after.digest) == (before.files == after.files)

    def test_adding_nodes_does_not_change_it(self) -> None:
        more = YAML.replace("count: 2", "count: 200")
        assert render_bundle(resolved(more)) == render_bundle(resolved())

    def test_digest_tells_apart_files_that_read_the_same_in_a_row(self) -> None:
        assert bundle._digest({"a": b"bc"}) != bundle._digest({"ab": b"c"})


def test_an_environment_without_controller_is_a_mistake_of_the_caller() -> None:
    environment = resolved()
    workers_only = dataclasses.replace(environment, groups=environment.groups[2:])
    with pytest.raises(ValueError, match="not enough values"):
        render_bundle(workers_only)
