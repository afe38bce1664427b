"""Folders of file systems that are linked to buckets, as stacks create and change them."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_file_systems import KINDS, NETWORK, lustre
from tests.cloud.embedded_stacks import Resources, Stacks, att, ref, resource


def link(path: str, prefix: str, **more: Any) -> dict[str, Any]:
    return resource(
        "FSx::DataRepositoryAssociation",
        FileSystemId=ref("Files"),
        FileSystemPath=path,
        DataRepositoryPath={"Fn::Sub": f"s3://${{Bucket}}/{prefix}/"},
        **more,
    )


class TestDataRepositories:
    linked: Resources = {  # noqa: RUF012
        **NETWORK,
        "Files": lustre(),
        "Bucket": resource("S3::Bucket"),
        "Images": link(
            "/images",
            "images",
            BatchImportMetaDataOnCreate=True,
            S3={"AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]}},
            Tags=[{"Key": "a", "Value": "1"}],
        ),
        "Results": link("/results", "results", S3={"AutoExportPolicy": {"Events": ["NEW"]}}),
    }

    def test_come_change_and_go(self, stacks: Stacks, clients: Clients) -> None:
        changes: Resources = {
            "Images": link(
                "/images",
                "images",
                BatchImportMetaDataOnCreate=True,
                S3={"AutoImportPolicy": {"Events": ["NEW"]}},
                Tags=[{"Key": "b", "Value": "2"}],
            ),
            "Results": link("/elsewhere", "new"),
        }
        made = stacks.deploy("linked", self.linked, Arn=att("Images", "ResourceARN"))
        changed = stacks.deploy("linked", {**self.linked, **changes})
        images, results = clients.fsx.describe_data_repository_associations(
            Filters=[{"Name": "file-system-id", "Values": [made.ids["Files"]]}]
        )["Associations"]

        assert made.status == "CREATE_COMPLETE", made.reasons
        assert changed.status == "UPDATE_COMPLETE", changed.reasons
        assert made.outputs["Arn"].endswith(made.ids["Images"])
        assert changed.ids["Images"] == made.ids["Images"]
        assert images["S3"] == {"AutoImportPolicy": {"Events": ["NEW"]}}
        assert images["Tags"] == [{"Key": "b", "Value": "2"}]
        assert changed.ids["Results"] != made.ids["Results"]
        assert results["FileSystemPath"] == "/elsewhere"
        assert stacks.delete("linked").status == "DELETE_COMPLETE"
        assert clients.fsx.describe_data_repository_associations()["Associations"] == []

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            (
                {"Images": {**link("/images", "i"), "DependsOn": "Results"},
                 "Results": link("/images/results", "r")},
                "overlaps",
            ),
            (
                {"Images": {**link("/images", "training"), "DependsOn": "Results"},
                 "Results": link("/results", "training/results")},
                "which is linked to the file system already",
            ),
            (
                {"Results": resource("FSx::DataRepositoryAssociation", FileSystemId=ref("Files"),
                                     FileSystemPath="/r",
                                     DataRepositoryPath="s3://nobody-has-this/")},
                "The S3 bucket nobody-has-this",
            ),
            (
                {"Files": lustre(AutomaticBackupRetentionDays=7)},
                "Backups cannot be created on S3-linked file systems",
            ),
            ({"Files": KINDS["tiering"]}, "does not support data repository associations"),
        ],
    )  # fmt: skip
    def test_are_refused_as_by_fsx(self, stacks: Stacks, changes: Resources, reason: str) -> None:
        outcome = stacks.deploy("links", {**self.linked, **changes})
        stacks.delete("links")

        assert outcome.status == "ROLLBACK_COMPLETE"
        assert reason in outcome.reasons

    def test_cannot_move_a_prefix_to_another_folder_in_one_step(self, stacks: Stacks) -> None:
        """CloudFormation makes the new association first, and a prefix is linked only once."""
        stacks.deploy("linked", self.linked)
        outcome = stacks.deploy("linked", {**self.linked, "Results": link("/new", "results")})
        stacks.delete("linked")

        assert outcome.status == "UPDATE_ROLLBACK_COMPLETE"
        assert "is linked to the file system already" in outcome.reasons

    def test_end_backups(self, stacks: Stacks) -> None:
        stacks.deploy("linked", self.linked)
        backed_up = {**self.linked, "Files": lustre(AutomaticBackupRetentionDays=7)}
        outcome = stacks.deploy("linked", backed_up)
        stacks.delete("linked")

        assert outcome.status == "UPDATE_ROLLBACK_COMPLETE"
        assert "Backups cannot be created on S3-linked file systems" in outcome.reasons

    def test_end_with_their_file_system(self, stacks: Stacks, clients: Clients) -> None:
        made = stacks.deploy("linked", self.linked)
        clients.fsx.delete_file_system(FileSystemId=made.ids["Files"])

        assert clients.fsx.describe_data_repository_associations()["Associations"] == []
