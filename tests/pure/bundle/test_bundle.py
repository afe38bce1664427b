from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slurmpod.bundle import (
    DATABASE_ENDPOINT,
    DATABASE_SECRET_ARN,
    Bundle,
    bundle,
    render_bundle,
)
from slurmpod.reading.own_scripts import OwnScripts
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve

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
EXTENDED = f"{YAML}lifecycle: {{mode: extended}}\n"
FILE_SYSTEMS = """
storage:
  lustre:
    existing: {id: fs-0123456789abcdef0, mount_name: abcdefgh}
  additional_lustre:
    - {name: scratch, mount_path: /scratch}
  openzfs: {mount_path: /home}
"""
NO_LUSTRE = "storage: {lustre: null}\n"
SECRET = "arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-AbCdEf"
TWO_HEADS = f"""
slurm:
  accounting_database: {{endpoint: db.example.com, secret_arn: "{SECRET}"}}
  multi_head: {{database_user: acct}}
"""


def resolved(yaml: str = YAML, own: Mapping[str, bytes] | None = None) -> Resolved:
    scripts = OwnScripts("./scripts", own) if own else None
    return resolve(replace(read_as("test.yaml", yaml), own_scripts=scripts))


def bundle_of(yaml: str = YAML, own: Mapping[str, bytes] | None = None) -> Bundle:
    result = render_bundle(resolved(yaml, own))
    assert result is not None
    return result


def rendered(path: str, yaml: str = YAML) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(bundle_of(yaml).files[path])
    return data


class TestProvisioningParameters:
    def test_are_what_hyperpod_documents(self) -> None:
        assert rendered("provisioning_parameters.json") == {
            "version": "1.0.0",
            "workload_manager": "slurm",
            "controller_group": "head",
            "login_group": "door",
            "worker_groups": [{"instance_group_name": "hands", "partition_name": "cpu"}],
            "fsx_dns_name": "@LUSTRE:lustre:DNS_NAME@",
            "fsx_mountname": "@LUSTRE:lustre:MOUNT_NAME@",
        }

    def test_a_cluster_without_login_nodes_names_no_login_group(self) -> None:
        without_login = "".join(
            line for line in YAML.splitlines(keepends=True) if "door" not in line
        )
        assert "login_group" not in rendered("provisioning_parameters.json", without_login)

    def test_file_systems_that_are_there_are_named(self) -> None:
        parameters = rendered("provisioning_parameters.json", YAML + FILE_SYSTEMS)
        assert parameters["fsx_dns_name"] == "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
        assert parameters["fsx_mountname"] == "abcdefgh"
        assert parameters["fsx_openzfs_dns_name"] == "@OPENZFS:DNS_NAME@"

    def test_a_cluster_without_file_systems_names_none(self) -> None:
        parameters = rendered("provisioning_parameters.json", YAML + NO_LUSTRE)
        assert not [key for key in parameters if key.startswith("fsx")]

    def test_several_controllers_are_told_their_database_and_their_folder(self) -> None:
        text = YAML.replace("ml.m5.large}", "ml.m5.large, count: 2}", 1) + TWO_HEADS
        parameters = rendered("provisioning_parameters.json", text)
        assert parameters["slurm_configurations"] == {
            "slurm_database_secret_arn": SECRET,
            "slurm_database_endpoint": "db.example.com",
            "slurm_shared_directory": "/fsx",
            "slurm_database_user": "acct",
        }


class TestSettings:
    def test_are_what_the_scripts_read(self) -> None:
        settings = rendered("settings.json")
        assert settings.pop("slurm").keys() == {"configuration", "partitions", "qos", "accounts"}
        assert settings.pop("access")["users"] == []
        assert settings.pop("node")["scratch_path"] is None
        assert settings == {
            "cluster_name": "dev",
            "region": "us-west-2",
            "mode": "customer",
            "roles": {"head": "controller", "door": "login", "hands": "worker"},
            "file_systems": [
                {
                    "kind": "lustre",
                    "dns_name": "@LUSTRE:lustre:DNS_NAME@",
                    "mount_name": "@LUSTRE:lustre:MOUNT_NAME@",
                    "mount_path": "/fsx",
                    "mounted_by_hyperpod": False,
                    "is_new": True,
                    "root_squash": False,
                    "efa": False,
                }
            ],
            "s3_mounts": [],
            "accounting": True,
            "database": None,
            "records_backup": None,
            "checks": None,
            "multi_head": None,
            "metrics": None,
            "step_timeout_seconds": 600,
        }

    def test_each_file_system_waits_for_values_of_its_own(self) -> None:
        systems = rendered("settings.json", YAML + FILE_SYSTEMS)["file_systems"]
        assert {system["mount_path"]: system["dns_name"] for system in systems} == {
            "/fsx": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
            "/scratch": "@LUSTRE:scratch:DNS_NAME@",
            "/home": "@OPENZFS:DNS_NAME@",
        }

    def test_a_file_system_with_efa_is_known_by_that(self) -> None:
        text = f"{YAML}storage: {{lustre: {{efa: true}}}}\n"
        (system,) = rendered("settings.json", text)["file_systems"]
        assert system["efa"] is True

    def test_hyperpod_mounts_the_first_of_each_kind_when_it_configures_nodes(self) -> None:
        systems = rendered("settings.json", EXTENDED + FILE_SYSTEMS)["file_systems"]
        assert {system["mount_path"]: system["mounted_by_hyperpod"] for system in systems} == {
            "/fsx": True,
            "/scratch": False,
            "/home": True,
        }

    def test_there_may_be_no_file_system(self) -> None:
        assert rendered("settings.json", YAML + NO_LUSTRE)["file_systems"] == []

    def test_several_controllers_are_counted(self) -> None:
        text = YAML.replace("ml.m5.large}", "ml.m5.large, count: 2}", 1) + TWO_HEADS
        settings = rendered("settings.json", text)
        assert settings["multi_head"] == {
            "controllers": 2,
            "shared_directory": "/fsx",
            "sns_topic_arn": None,
        }
        assert settings["database"] == {
            "endpoint": "db.example.com",
            "port": 3306,
            "name": "slurm_acct_db",
            "secret_arn": SECRET,
            "default_user": "acct",
            "requires_tls": False,
        }

    def test_a_new_database_is_waited_for_and_takes_encrypted_connections_only(self) -> None:
        text = f"{YAML}slurm: {{rds: {{}}}}\n"
        assert rendered("settings.json", text)["database"] == {
            "endpoint": DATABASE_ENDPOINT,
            "port": 3306,
            "name": "slurm_acct_db",
            "secret_arn": DATABASE_SECRET_ARN,
            "default_user": "admin",
            "requires_tls": True,
        }
        assert "settings.json" in bundle_of(text).deploy_time_files

    def test_hyperpod_connects_to_a_new_database_by_itself_in_extended_mode(self) -> None:
        settings = rendered("settings.json", f"{EXTENDED}slurm: {{rds: {{}}}}\n")
        assert settings["database"]["requires_tls"] is False


class TestModes:
    def test_in_customer_mode_scripts_and_parameters_go_to_nodes(self) -> None:
        files = set(bundle_of().files)
        assert {"on_create.sh", "set_up_node.sh", "provisioning_parameters.json"} < files
        assert "on_init_complete.sh" not in files

    def test_in_extended_mode_there_are_no_parameters_which_hyperpod_would_refuse(self) -> None:
        files = set(bundle_of(EXTENDED).files)
        assert {"on_init_complete.sh", "set_up_node.sh", "settings.json"} < files
        assert not {"on_create.sh", "provisioning_parameters.json"} & files

    def test_in_managed_mode_there_is_no_bundle(self) -> None:
        assert render_bundle(resolved(f"{YAML}lifecycle: {{mode: managed}}\n")) is None

    def test_with_file_systems_that_are_there_nothing_waits(self) -> None:
        existing = FILE_SYSTEMS.split("  additional")[0]
        assert bundle_of(YAML + existing).deploy_time_files == ()

    def test_new_file_systems_are_waited_for(self) -> None:
        result = bundle_of()
        assert result.deploy_time_files == ("provisioning_parameters.json", "settings.json")


class TestOwnScripts:
    OWN = f"{YAML}lifecycle: {{scripts: ./scripts}}\n"
    FILES: Mapping[str, bytes] = {
        "on_create.sh": b"#!/bin/bash\n",
        "bin/tool": bytes(range(256)),
        "odd.txt": b"@LUSTRE:lustre:DNS_NAME@",
    }

    def test_are_taken_as_they_are(self) -> None:
        result = bundle_of(self.OWN, self.FILES)
        assert {path: result.files[path] for path in self.FILES} == self.FILES
        assert set(result.files) - set(self.FILES) == {"provisioning_parameters.json"}
        assert result.deploy_time_files == ("provisioning_parameters.json",)

    def test_their_own_parameters_are_taken_as_they_are_too(self) -> None:
        files = {**self.FILES, "provisioning_parameters.json": b"{}"}
        result = bundle_of(self.OWN, files)
        assert dict(result.files) == dict(sorted(files.items()))
        assert result.deploy_time_files == ()

    def test_in_extended_mode_nothing_is_added(self) -> None:
        extended = self.OWN.replace("scripts:", "mode: extended, scripts:")
        assert set(bundle_of(extended, self.FILES).files) == set(self.FILES)


class TestBundle:
    def test_holds_the_scripts_sorted(self) -> None:
        files = bundle_of().files
        assert {"on_create.sh", "slurmpod_lifecycle/__main__.py"} < set(files)
        assert list(files) == sorted(files)

    def test_holds_nothing_that_tools_leave_beside_scripts(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(bundle, "SCRIPTS", tmp_path)
        before = bundle_of()
        for path in ("__pycache__/x.cpython-311.pyc", ".mypy_cache/x.json", "on_create.sh~"):
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text("left over")
        assert bundle_of() == before

    def test_has_unix_line_ends_only(self) -> None:
        assert not [path for path, content in bundle_of().files.items() if b"\r" in content]

    def test_is_the_same_every_time(self) -> None:
        assert bundle_of() == bundle_of()

    def test_lies_in_a_folder_named_by_its_content(self) -> None:
        result = bundle_of()
        assert result.prefix == f"lifecycle/{result.digest}"
        assert len(result.digest) == 12

    @pytest.mark.parametrize("change", ["partition: gpu", "partition: cpu, threads_per_core: 1"])
    def test_digest_changes_exactly_when_the_content_does(self, change: str) -> None:
        before = bundle_of()
        after = bundle_of(YAML.replace("partition: cpu", change))
        assert (before.digest == after.digest) == (before.files == after.files)

    def test_adding_nodes_does_not_change_it(self) -> None:
        assert bundle_of(YAML.replace("count: 2", "count: 200")) == bundle_of()

    def test_digest_tells_apart_files_that_read_the_same_in_a_row(self) -> None:
        assert bundle._digest({"a": b"bc"}) != bundle._digest({"ab": b"c"})


def test_an_environment_without_controller_is_a_mistake_of_the_caller() -> None:
    environment = resolved()
    workers_only = dataclasses.replace(environment, groups=environment.groups[2:])
    with pytest.raises(ValueError, match="not enough values"):
        render_bundle(workers_only)


def test_hooks_are_part_of_it_and_of_its_hash() -> None:
    def bundle_with(**hooks: str) -> Bundle:
        named = {path.replace("_", "-"): text for path, text in hooks.items()}
        texts = {f"hooks/{name}.sh": text for name, text in named.items()}
        bundle = render_bundle(resolve(replace(read_as("dev.yaml", YAML), hooks=texts)))
        assert bundle
        return bundle

    one, other = bundle_with(worker_after="#!/bin/sh\na"), bundle_with(worker_after="#!/bin/sh\nb")
    assert one.files["hooks/worker-after.sh"] == b"#!/bin/sh\na"
    assert json.loads(one.files["settings.json"])["node"]["hooks"] == {
        "worker": {"after": "hooks/worker-after.sh"}
    }
    assert len({one.prefix, other.prefix, bundle_with().prefix}) == 3
