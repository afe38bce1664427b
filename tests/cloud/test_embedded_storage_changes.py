"""What stacks change on file systems: in place, by replacement, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_file_systems import KINDS, NETWORK, file_system, lustre, openzfs
from tests.cloud.embedded_stacks import Resources, Stacks, ref, resource


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (lustre(), lustre(2400), {"StorageCapacity": 2400}),
        (lustre(), lustre(PerUnitStorageThroughput=500), {"PerUnitStorageThroughput": 500}),
        (
            lustre(),
            lustre(MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": 3000}),
            {"MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 3000}},
        ),
        (
            KINDS["everything"],
            lustre(WeeklyMaintenanceStartTime="1:01:00", CopyTagsToBackups=True),
            {"WeeklyMaintenanceStartTime": "1:01:00", "AutomaticBackupRetentionDays": 0},
        ),
        (openzfs(), openzfs(ThroughputCapacity=320), {"ThroughputCapacity": 320}),
    ],
)
def test_changes_in_place_what_fsx_can_change(
    stacks: Stacks,
    clients: Clients,
    before: dict[str, Any],
    after: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    made = stacks.deploy("changing", {**NETWORK, "Files": before})
    changed = stacks.deploy("changing", {**NETWORK, "Files": after})
    (found,) = clients.fsx.describe_file_systems(FileSystemIds=[made.ids["Files"]])["FileSystems"]
    settings: Any = found.get("LustreConfiguration") or found.get("OpenZFSConfiguration")

    assert changed.status == "UPDATE_COMPLETE", changed.reasons
    assert changed.ids == made.ids
    assert expected.items() <= {**found, **settings}.items()
    stacks.delete("changing")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lustre(), KINDS["scratch"]),
        (lustre(), lustre(CopyTagsToBackups=True)),
        (openzfs(), openzfs(DeploymentType="SINGLE_AZ_2")),
        (openzfs(), openzfs(RootVolumeConfiguration={"DataCompressionType": "LZ4"})),
        (lustre(), openzfs()),
    ],
)
def test_replaces_what_cloudformation_replaces(
    stacks: Stacks, clients: Clients, before: dict[str, Any], after: dict[str, Any]
) -> None:
    made = stacks.deploy("replacing", {**NETWORK, "Files": before})
    changed = stacks.deploy("replacing", {**NETWORK, "Files": after})

    assert changed.status == "UPDATE_COMPLETE", changed.reasons
    assert changed.ids["Files"] != made.ids["Files"]
    assert len(clients.fsx.describe_file_systems()["FileSystems"]) == 1
    stacks.delete("replacing")


def test_a_new_version_of_lustre_is_an_update(stacks: Stacks, clients: Clients) -> None:
    def of_version(version: str) -> Resources:
        settings = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 125}
        more = {"StorageCapacity": 1200, "FileSystemTypeVersion": version}
        return {**NETWORK, "Files": file_system("LUSTRE", settings, **more)}

    made = stacks.deploy("version", of_version("2.12"))
    changed = stacks.deploy("version", of_version("2.15"))
    (found,) = clients.fsx.describe_file_systems()["FileSystems"]
    stacks.delete("version")

    assert changed.ids == made.ids
    assert found["FileSystemTypeVersion"] == "2.15"


@pytest.mark.parametrize(
    ("after", "status", "reason"),
    [
        (lustre(EfaEnabled=True), "REFUSED", "LustreConfiguration.EfaEnabled of AWS::FSx"),
        (lustre(3600), "UPDATE_ROLLBACK_COMPLETE", "a multiple of 2400 GiB, not 3600"),
        (
            lustre(PerUnitStorageThroughput=200),
            "UPDATE_ROLLBACK_COMPLETE",
            "should be one of [125,250,500,1000].",
        ),
        (
            lustre(RootSquashConfiguration={"RootSquash": "1:1"}),
            "REFUSED",
            "#/LustreConfiguration: extraneous key [RootSquashConfiguration] is not permitted",
        ),
    ],
)
def test_a_change_that_is_refused_changes_nothing(
    stacks: Stacks, clients: Clients, after: dict[str, Any], status: str, reason: str
) -> None:
    made = stacks.deploy("refused", {**NETWORK, "Files": lustre()})
    outcome = stacks.deploy("refused", {**NETWORK, "Files": after})
    (found,) = clients.fsx.describe_file_systems()["FileSystems"]
    stacks.delete("refused")

    assert outcome.status == status
    assert reason in outcome.reasons
    assert found["FileSystemId"] == made.ids["Files"]
    assert found["StorageCapacity"] == 1200


def test_what_grew_does_not_shrink_in_a_rollback(stacks: Stacks) -> None:
    stacks.deploy("grown", {**NETWORK, "Files": lustre()})
    broken = resource("EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="192.168.0.0/24")
    broken["DependsOn"] = "Files"
    outcome = stacks.deploy("grown", {**NETWORK, "Files": lustre(2400), "Broken": broken})
    stacks.delete("grown")

    assert outcome.status == "UPDATE_ROLLBACK_FAILED"
    assert "must be greater than the current 2400 GiB, not 1200" in outcome.reasons


def test_root_squash_is_set_and_outlives_what_set_it(stacks: Stacks, clients: Clients) -> None:
    def squashed_to(user: str) -> Resources:
        call = [
            '{"service":"fsx","action":"UpdateFileSystem","physicalResourceId":{"id":"',
            ref("Files"),
            '"},"parameters":{"FileSystemId":"',
            ref("Files"),
            '","LustreConfiguration":{"RootSquashConfiguration":{"RootSquash":"',
            f'{user}"',
            "}}}}",
        ]
        made: Any = {"Fn::Join": ["", call]}
        properties = {"ServiceToken": "function", "Create": made, "Update": made}
        squash = {"Type": "Custom::LustreRootSquash", "Properties": properties}
        return {**NETWORK, "Files": lustre(), "Squash": squash}

    def users() -> list[str]:
        found: Any = clients.fsx.describe_file_systems()["FileSystems"]
        return [
            each["LustreConfiguration"]["RootSquashConfiguration"]["RootSquash"] for each in found
        ]

    made = stacks.deploy("squash", squashed_to("1:1"))
    first = users()
    changed = stacks.deploy("squash", squashed_to("2:2"))
    second = users()
    stacks.deploy("squash", {**NETWORK, "Files": lustre()})

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert made.ids["Squash"] == made.ids["Files"]
    assert changed.ids == made.ids
    assert (first, second, users()) == (["1:1"], ["2:2"], ["2:2"])
    stacks.delete("squash")
