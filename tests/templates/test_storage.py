from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App

from slurmpod.resolve import Resolved
from slurmpod_cdk.nag.review import review
from slurmpod_cdk.network.stack import network_of
from slurmpod_cdk.storage.stack import FileSystems, MountTarget, file_systems_of
from tests.sound_environment import SOUND
from tests.templates.linting import lint
from tests.templates.synthesis import (
    CONTEXT,
    Synthesized,
    Template,
    of_type,
    only,
    resolved_from,
    synthesize,
)

FILE_SYSTEM = "AWS::FSx::FileSystem"
REPOSITORY = "AWS::FSx::DataRepositoryAssociation"
ROOT_SQUASH = "Custom::LustreRootSquash"
KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"

EVERYTHING = f"""\
storage:
  lustre:
    capacity_gib: 4800
    throughput_mbps_per_tib: 1000
    metadata_iops: 24000
    compression: NONE
    efa: true
    kms_key_arn: {KEY}
    maintenance_window: "7:05:00"
    root_squash: {{user: "65534:65534", except_nids: ["10.0.[128-255].[0-255]@tcp"]}}
    data_repositories:
      - {{path: /data, s3_uri: "s3://my-data/in/"}}
      - path: /results
        s3_uri: s3://my-data/results/
        import_events: []
        export_events: [NEW, CHANGED]
        import_metadata_on_create: false
  additional_lustre:
    - name: cold
      mount_path: /cold
      storage_type: INTELLIGENT_TIERING
      throughput_mbps: 8000
      read_cache_gib: 640
    - name: warm
      mount_path: /warm
      storage_type: INTELLIGENT_TIERING
    - name: archive
      mount_path: /archive
      deployment_type: PERSISTENT_1
      storage_type: HDD
      capacity_gib: 6000
      drive_cache: true
      backups: {{retention_days: 30, start_time: "03:00"}}
    - {{name: scratch, mount_path: /scratch, deployment_type: SCRATCH_2, on_delete: delete}}
    - name: theirs
      mount_path: /theirs
      existing: {{id: fs-0123456789abcdef0, mount_name: abcd1234}}
  openzfs:
    capacity_gib: 512
    throughput_mbps: 320
    iops: 3000
    backups: {{retention_days: 14, copy_tags: true}}
    on_delete: delete
"""


def environment(storage: str) -> str:
    """Return a sound environment with this storage section in place of its own."""
    head, _, tail = SOUND.partition("storage:\n")
    return f"{head}{storage}cluster:{tail.partition('cluster:')[2]}"


@pytest.fixture(scope="module")
def everything() -> Synthesized:
    return synthesize(resolved_from(environment(EVERYTHING)))


@pytest.fixture(scope="module")
def template(everything: Synthesized) -> Template:
    return everything.templates["storage"]


def named(template: Template, name: str) -> dict[str, Any]:
    """Return the one file system with this name tag."""
    (found,) = (
        resource
        for resource in of_type(template, FILE_SYSTEM).values()
        if {"Key": "Name", "Value": name} in resource["Properties"]["Tags"]
    )
    return found


def lustre_configuration(template: Template, name: str) -> dict[str, Any]:
    configuration: dict[str, Any] = named(template, name)["Properties"]["LustreConfiguration"]
    return configuration


def without_tags(properties: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if key != "Tags"}


def without_app(resolved: Resolved) -> FileSystems:
    """Return the file systems alone, as the other stacks get them."""
    app = App(context=CONTEXT)
    return file_systems_of(app, resolved, network_of(app, resolved))


class TestExamples:
    def test_the_file_system_is_what_was_resolved(self, example: Synthesized) -> None:
        properties = only(example.templates["storage"], FILE_SYSTEM)
        (resolved,) = example.resolved.lustre
        assert properties["FileSystemType"] == "LUSTRE"
        assert properties["FileSystemTypeVersion"] == "2.15"
        assert properties["StorageCapacity"] == resolved.capacity_gib
        assert properties["LustreConfiguration"] == {
            "DeploymentType": "PERSISTENT_2",
            "PerUnitStorageThroughput": resolved.throughput_mbps_per_tib,
            "DataCompressionType": resolved.settings.compression,
            "MetadataConfiguration": {"Mode": "AUTOMATIC"},
        }

    def test_the_file_system_lies_with_the_nodes(self, example: Synthesized) -> None:
        properties = only(example.templates["storage"], FILE_SYSTEM)
        vpc_config = only(example.templates["cluster"], "AWS::SageMaker::Cluster")["VpcConfig"]
        assert properties["SubnetIds"] == vpc_config["Subnets"]
        assert properties["SecurityGroupIds"] == vpc_config["SecurityGroupIds"]

    def test_data_outlive_the_stack_but_not_a_creation_that_failed(
        self, example: Synthesized
    ) -> None:
        (resource,) = of_type(example.templates["storage"], FILE_SYSTEM).values()
        assert resource["DeletionPolicy"] == "RetainExceptOnCreate"
        assert resource["UpdateReplacePolicy"] == "Retain"

    def test_the_file_system_waits_for_the_rules_of_its_security_group(
        self, example: Synthesized
    ) -> None:
        rules = of_type(example.templates["network"], "AWS::EC2::SecurityGroupIngress")
        needed = {stack.id for stack in example.stacks["storage"].dependencies}
        assert rules
        assert example.resolved.stacks.network in needed


class TestLustre:
    def test_all_settings_of_a_fast_one(self, template: Template) -> None:
        properties = named(template, "dev")["Properties"]
        assert properties["KmsKeyId"] == KEY
        assert properties["StorageType"] == "SSD"
        assert properties["LustreConfiguration"] == {
            "DeploymentType": "PERSISTENT_2",
            "PerUnitStorageThroughput": 1000,
            "DataCompressionType": "NONE",
            "EfaEnabled": True,
            "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 24000},
            "WeeklyMaintenanceStartTime": "7:05:00",
        }

    def test_tiering_has_a_throughput_a_cache_and_no_capacity(self, template: Template) -> None:
        properties = named(template, "dev-cold")["Properties"]
        assert "StorageCapacity" not in properties
        assert properties["StorageType"] == "INTELLIGENT_TIERING"
        assert properties["LustreConfiguration"] == {
            "DeploymentType": "PERSISTENT_2",
            "ThroughputCapacity": 8000,
            "DataReadCacheConfiguration": {"SizingMode": "USER_PROVISIONED", "SizeGiB": 640},
            "DataCompressionType": "LZ4",
            "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000},
        }

    def test_tiering_is_complete_without_a_word(self, template: Template) -> None:
        configuration = lustre_configuration(template, "dev-warm")
        assert configuration["ThroughputCapacity"] == 4000
        assert configuration["DataReadCacheConfiguration"] == {
            "SizingMode": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"
        }

    def test_fsx_may_choose_the_metadata_operations_of_tiering(self) -> None:
        text = environment(
            "storage:\n  lustre: {storage_type: INTELLIGENT_TIERING, throughput_mbps: 1000, "
            "metadata_iops: 0}\n"
        )
        configuration = lustre_configuration(
            synthesize(resolved_from(text)).templates["storage"], "dev"
        )
        assert configuration["ThroughputCapacity"] == 1000
        assert configuration["MetadataConfiguration"] == {"Mode": "AUTOMATIC"}

    def test_tiering_may_have_no_cache(self) -> None:
        text = environment(
            "storage:\n  lustre: {storage_type: INTELLIGENT_TIERING, read_cache_gib: 0}\n"
        )
        configuration = lustre_configuration(
            synthesize(resolved_from(text)).templates["storage"], "dev"
        )
        assert configuration["DataReadCacheConfiguration"] == {"SizingMode": "NO_CACHE"}

    def test_hard_disks_have_a_drive_cache_and_backups(self, template: Template) -> None:
        assert lustre_configuration(template, "dev-archive") == {
            "DeploymentType": "PERSISTENT_1",
            "PerUnitStorageThroughput": 12,
            "DriveCacheType": "READ",
            "DataCompressionType": "LZ4",
            "AutomaticBackupRetentionDays": 30,
            "DailyAutomaticBackupStartTime": "03:00",
        }

    def test_adding_backups_does_not_replace_the_file_system(self) -> None:
        """CloudFormation replaces it when CopyTagsToBackups changes, and changes all else."""
        before, after = (
            only(synthesize(resolved_from(environment(storage))).templates["storage"], FILE_SYSTEM)
            for storage in ("storage:\n  lustre: {}\n", "storage:\n  lustre: {backups: {}}\n")
        )
        before["LustreConfiguration"]["AutomaticBackupRetentionDays"] = 7
        assert after == before

    def test_scratch_has_neither_throughput_nor_metadata(self, template: Template) -> None:
        assert lustre_configuration(template, "dev-scratch") == {
            "DeploymentType": "SCRATCH_2",
            "DataCompressionType": "LZ4",
        }

    def test_an_older_persistent_2_has_no_metadata_configuration(self) -> None:
        text = environment('storage:\n  lustre: {version: "2.12"}\n')
        properties = only(synthesize(resolved_from(text)).templates["storage"], FILE_SYSTEM)
        assert properties["FileSystemTypeVersion"] == "2.12"
        assert "MetadataConfiguration" not in properties["LustreConfiguration"]

    def test_data_go_with_the_stack_only_where_it_says_so(self, template: Template) -> None:
        policies = {
            name: named(template, name)["DeletionPolicy"]
            for name in ("dev", "dev-cold", "dev-archive", "dev-scratch", "dev-openzfs")
        }
        assert policies == {
            "dev": "RetainExceptOnCreate",
            "dev-cold": "RetainExceptOnCreate",
            "dev-archive": "RetainExceptOnCreate",
            "dev-scratch": "Delete",
            "dev-openzfs": "Delete",
        }
        assert named(template, "dev-scratch")["UpdateReplacePolicy"] == "Delete"


class TestRepositories:
    def test_each_folder_is_linked_with_its_bucket(self, template: Template) -> None:
        (main,) = (
            logical_id
            for logical_id, resource in of_type(template, FILE_SYSTEM).items()
            if resource is named(template, "dev")
        )
        found = {
            resource["Properties"]["FileSystemPath"]: without_tags(resource["Properties"])
            for resource in of_type(template, REPOSITORY).values()
        }
        assert found == {
            "/data": {
                "FileSystemId": {"Ref": main},
                "FileSystemPath": "/data",
                "DataRepositoryPath": "s3://my-data/in/",
                "BatchImportMetaDataOnCreate": True,
                "S3": {"AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]}},
            },
            "/results": {
                "FileSystemId": {"Ref": main},
                "FileSystemPath": "/results",
                "DataRepositoryPath": "s3://my-data/results/",
                "BatchImportMetaDataOnCreate": False,
                "S3": {"AutoExportPolicy": {"Events": ["NEW", "CHANGED"]}},
            },
        }

    def test_one_more_folder_leaves_the_others_alone(self) -> None:
        one = "      - {path: /a, s3_uri: s3://my-data/a/}\n"
        other = "      - {path: /b, s3_uri: s3://my-data/b/}\n"
        before, after = (
            synthesize(resolved_from(environment(storage))).templates["storage"]
            for storage in (
                f"storage:\n  lustre:\n    data_repositories:\n{one}",
                f"storage:\n  lustre:\n    data_repositories:\n{other}{one}",
            )
        )
        assert of_type(before, REPOSITORY).items() <= of_type(after, REPOSITORY).items()


class TestRootSquash:
    def test_it_is_set_by_a_call_that_only_that_file_system_allows(
        self, template: Template
    ) -> None:
        (resource,) = of_type(template, ROOT_SQUASH).values()
        parts = resource["Properties"]["Update"]["Fn::Join"][1]
        call = "".join(part for part in parts if isinstance(part, str))
        assert '"RootSquash":"65534:65534","NoSquashNids":["10.0.[128-255].[0-255]@tcp"]' in call
        assert resource["Properties"]["Create"] == resource["Properties"]["Update"]
        assert "Delete" not in resource["Properties"]
        (statement,) = only(template, "AWS::IAM::Policy")["PolicyDocument"]["Statement"]
        assert statement["Action"] == "fsx:UpdateFileSystem"
        assert statement["Resource"]["Fn::GetAtt"][1] == "ResourceARN"

    def test_it_waits_for_the_repositories(self, template: Template) -> None:
        (resource,) = of_type(template, ROOT_SQUASH).values()
        assert of_type(template, REPOSITORY).keys() <= set(resource["DependsOn"])


class TestOpenZfs:
    def test_all_settings(self, template: Template) -> None:
        properties = named(template, "dev-openzfs")["Properties"]
        assert properties["FileSystemType"] == "OPENZFS"
        assert properties["StorageCapacity"] == 512
        assert properties["OpenZFSConfiguration"] == {
            "DeploymentType": "SINGLE_AZ_HA_2",
            "ThroughputCapacity": 320,
            "DiskIopsConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 3000},
            "AutomaticBackupRetentionDays": 14,
            "CopyTagsToBackups": True,
            "Options": ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"],
            "RootVolumeConfiguration": {
                "DataCompressionType": "ZSTD",
                "NfsExports": [
                    {
                        "ClientConfigurations": [
                            {"Clients": "*", "Options": ["rw", "crossmnt", "no_root_squash"]}
                        ]
                    }
                ],
            },
        }

    def test_nothing_is_deleted_or_backed_up_unless_asked_for(self) -> None:
        text = environment("storage:\n  lustre: null\n  openzfs: {}\n")
        resource = named(synthesize(resolved_from(text)).templates["storage"], "dev-openzfs")
        configuration = resource["Properties"]["OpenZFSConfiguration"]
        assert resource["DeletionPolicy"] == "RetainExceptOnCreate"
        assert "Options" not in configuration
        assert configuration["AutomaticBackupRetentionDays"] == 0
        assert configuration["DiskIopsConfiguration"] == {"Mode": "AUTOMATIC"}


class TestSeveral:
    def test_more_file_systems_leave_the_main_one_alone(self, everything: Synthesized) -> None:
        alone = synthesize(resolved_from(environment("storage:\n  lustre: {}\n")))
        (main,) = of_type(alone.templates["storage"], FILE_SYSTEM)
        together = of_type(everything.templates["storage"], FILE_SYSTEM)
        assert together[main] is named(everything.templates["storage"], "dev")

    def test_the_order_of_the_file_does_not_matter(self) -> None:
        one, other = (
            "    - {name: one, mount_path: /one}\n",
            "    - {name: other, mount_path: /other}\n",
        )
        templates = [
            synthesize(resolved_from(environment(f"storage:\n  additional_lustre:\n{lines}")))
            for lines in (one + other, other + one)
        ]
        first, second = (of_type(each.templates["storage"], FILE_SYSTEM) for each in templates)
        assert first == second

    def test_the_main_one_keeps_its_id(self, dev: Synthesized) -> None:
        """An id that changes makes CloudFormation create an empty file system."""
        assert set(of_type(dev.templates["storage"], FILE_SYSTEM)) == {"LustreFileSystem4AFDAE78"}

    def test_each_has_its_outputs(self, template: Template) -> None:
        kinds = ("FileSystemId", "FileSystemDnsName", "FileSystemMountName")
        names = ("", "Cold", "Warm", "Archive", "Scratch")
        expected = {f"{kind}{name}" for kind in kinds for name in names}
        assert {name for name in template["Outputs"] if not name.startswith("Publish")} == {
            *expected,
            "OpenZfsId",
            "OpenZfsDnsName",
        }

    def test_outputs_of_names_with_hyphens(self) -> None:
        text = environment("storage:\n  additional_lustre: [{name: my-data-2, mount_path: /d}]\n")
        outputs = synthesize(resolved_from(text)).templates["storage"]["Outputs"]
        assert "FileSystemIdMyData2" in outputs


class TestExisting:
    EXISTING = (
        "storage:\n"
        "  lustre:\n    existing: {id: fs-0123456789abcdef0, mount_name: abcd1234}\n"
        "  openzfs:\n    existing: {id: fs-1123456789abcdef0}\n"
    )

    def test_nothing_is_made_for_them(self) -> None:
        file_systems = without_app(resolved_from(environment(self.EXISTING)))
        assert file_systems == FileSystems(
            stack=None,
            lustre={
                "lustre": MountTarget(
                    "fs-0123456789abcdef0",
                    "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
                    "abcd1234",
                )
            },
            openzfs=MountTarget(
                "fs-1123456789abcdef0", "fs-1123456789abcdef0.fsx.us-west-2.amazonaws.com", "fsx"
            ),
        )

    def test_they_stand_beside_new_ones(self, everything: Synthesized) -> None:
        file_systems = without_app(everything.resolved)
        assert list(file_systems.lustre) == [
            *("lustre", "cold", "warm", "archive", "scratch", "theirs")
        ]
        assert file_systems.lustre["theirs"].mount_name == "abcd1234"
        assert file_systems.openzfs
        assert file_systems.stack

    def test_there_may_be_none_at_all(self) -> None:
        file_systems = without_app(resolved_from(environment("storage:\n  lustre: null\n")))
        assert file_systems == FileSystems(stack=None, lustre={}, openzfs=None)


def test_cfn_lint_finds_nothing_in_everything(everything: Synthesized) -> None:
    templates = [everything.stacks["storage"].template_full_path]
    assert lint(templates, everything.resolved.region) == []


def test_every_finding_of_everything_is_waived(everything: Synthesized) -> None:
    storage = f"{everything.resolved.stacks.storage}/"
    assert [problem for problem in review(everything.app) if problem.startswith(storage)] == []
