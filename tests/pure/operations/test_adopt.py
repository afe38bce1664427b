"""What is left of earlier deployments, and how an environment takes it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from slurmpod.aws.imports import ImportRefused, Imports
from slurmpod.aws.inventory import AccountInventory
from slurmpod.cli.environment import sound_environment
from slurmpod.environment.environment import Environment
from slurmpod.operations.adopt import Adoption, adopt, plan_adoption
from slurmpod.reading.read import read_as
from slurmpod.resolve.stacks import all_stack_names
from tests.golden_files import ROOT
from tests.pure.operations.fakes import FakeHoldings, FakeImports, file_system
from tests.sound_environment import SOUND

BUCKET = ("AWS::S3::Bucket", "sagemaker-dev", "DELETE_SKIPPED")
VPC = ("AWS::EC2::VPC", "vpc-1", "CREATE_COMPLETE")
SCRATCH = """\
  additional_lustre:
    - name: scratch
      mount_path: /scratch
"""
SUBNET = ("AWS::EC2::Subnet", "subnet-1", "DELETE_FAILED")


@pytest.fixture
def inventory() -> FakeHoldings:
    return FakeHoldings()


def environment(text: str = SOUND) -> Environment:
    loaded = read_as("dev.yaml", text)
    assert loaded.environment is not None, loaded.problems
    return loaded.environment


def plan(inventory: FakeHoldings, former: str = "dev", text: str = SOUND) -> Adoption:
    return plan_adoption(cast("AccountInventory", inventory), former, environment(text))


def do(inventory: FakeHoldings, imports: FakeImports, former: str = "dev") -> Adoption:
    return adopt(
        cast("AccountInventory", inventory), cast("Imports", imports), former, environment()
    )


@pytest.mark.parametrize("file", sorted((ROOT / "environments").rglob("[!_]*.yaml")))
def test_every_stack_of_an_environment_is_looked_at(file: Path) -> None:
    resolved = sound_environment(file).resolved
    stacks, every = resolved.stacks.in_order(), all_stack_names(resolved.name)
    assert [each for each in every if each in stacks] == list(stacks)


class TestPlan:
    def test_of_an_account_without_history_is_empty(self, inventory: FakeHoldings) -> None:
        assert plan(inventory).is_empty

    def test_what_a_stack_has_is_not_left(self, inventory: FakeHoldings) -> None:
        inventory.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        kind, name, _ = BUCKET
        inventory.add("dev-lifecycle", "UPDATE_COMPLETE", Bucket=(kind, name, "CREATE_COMPLETE"))
        assert plan(inventory).is_empty

    def test_what_was_deleted_since_is_not_left(self, inventory: FakeHoldings) -> None:
        inventory.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        inventory.gone.add("sagemaker-dev")
        assert plan(inventory).is_empty

    def test_of_two_in_one_place_the_newer_takes_it(self, inventory: FakeHoldings) -> None:
        for name in ("old", "new"):
            inventory.add("dev-x", "DELETE_COMPLETE")
            inventory.add(
                "dev-lifecycle", "DELETE_COMPLETE", B=("AWS::S3::Bucket", name, "DELETE_SKIPPED")
            )
        found = plan(inventory)
        assert [each.resource.physical_id for each in found.resources] == ["new"]
        assert [(each.resource.physical_id, each.problem) for each in found.others] == [
            ("old", "a newer one takes its place")
        ]

    def test_what_is_left_of_a_stack_that_was_made_anew_stays(
        self, inventory: FakeHoldings
    ) -> None:
        inventory.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        inventory.add("dev-lifecycle", "CREATE_COMPLETE")
        (other,) = plan(inventory).others
        assert other.problem == "its stack was created again without it"

    def test_what_cloudformation_cannot_import_is_named(self, inventory: FakeHoldings) -> None:
        inventory.add("dev-access", "DELETE_COMPLETE", A=("AWS::X::Y", "y-1", "DELETE_SKIPPED"))
        (other,) = plan(inventory).others
        assert other.problem == "CloudFormation cannot import AWS::X::Y"

    def test_a_failed_deletion_leaves_what_it_did_not_delete(self, inventory: FakeHoldings) -> None:
        gone = ("AWS::EC2::Subnet", "subnet-2", "DELETE_COMPLETE")
        inventory.add("dev-network", "DELETE_FAILED", Vpc=VPC, Subnet=SUBNET, Public=gone)
        found = plan(inventory)
        assert [each.name for each in found.failed] == ["dev-network"]
        assert [each.resource.physical_id for each in found.resources] == ["vpc-1", "subnet-1"]

    def test_a_failed_creation_is_the_cdks_matter(self, inventory: FakeHoldings) -> None:
        inventory.add("dev-cluster", "ROLLBACK_COMPLETE")
        assert plan(inventory).is_empty

    def test_unless_it_stands_in_the_way(self, inventory: FakeHoldings) -> None:
        inventory.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        inventory.add("dev-lifecycle", "ROLLBACK_COMPLETE")
        found = plan(inventory)
        assert [each.status for each in found.failed] == ["ROLLBACK_COMPLETE"]
        assert len(found.resources) == 1

    def test_other_environments_are_not_looked_at(self, inventory: FakeHoldings) -> None:
        inventory.add("devel-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        inventory.systems.append(file_system("fs-11111111", "devel", environment="devel"))
        assert plan(inventory).is_empty


class TestDefinitions:
    def test_references_become_the_ids_that_they_stood_for(self, inventory: FakeHoldings) -> None:
        record = inventory.add("dev-network", "DELETE_FAILED", Vpc=VPC, Subnet=SUBNET)
        entry = inventory.templates[record.arn]["Resources"]["Subnet"]
        entry["Properties"] = {"VpcId": {"Ref": "Vpc"}, "Tags": [{"Key": "a", "Value": "b"}]}
        found = {each.resource.logical_id: each.definition for each in plan(inventory).resources}
        assert found["Subnet"]["Properties"] == {
            "VpcId": "vpc-1",
            "Tags": [{"Key": "a", "Value": "b"}],
        }

    @pytest.mark.parametrize("stack", ["dev-network", "Network"])
    def test_outputs_of_other_stacks_as_well_also_of_other_apps(
        self, inventory: FakeHoldings, stack: str
    ) -> None:
        network = inventory.add(stack, "DELETE_FAILED", Vpc=VPC)
        inventory.templates[network.arn]["Outputs"] = {"V": {"Value": {"Ref": "Vpc"}}}
        record = inventory.add(
            "dev-database", "DELETE_COMPLETE", B=("AWS::S3::Bucket", "b", "DELETE_SKIPPED")
        )
        output = {"Fn::GetStackOutput": {"StackName": stack, "OutputName": "V"}}
        inventory.templates[record.arn]["Resources"]["B"]["Properties"] = {"Vpc": output}
        found = {each.resource.logical_id: each.definition for each in plan(inventory).resources}
        assert found["B"]["Properties"] == {"Vpc": "vpc-1"}

    @pytest.mark.parametrize(
        ("kind", "id_", "arn"),
        [
            ("AWS::IAM::Role", "nodes", "arn:aws:iam::123456789012:role/nodes"),
            ("AWS::KMS::Key", "k-1", "arn:aws:kms:us-west-2:123456789012:key/k-1"),
            ("AWS::SNS::Topic", "arn:aws:sns:r:1:t", "arn:aws:sns:r:1:t"),
        ],
    )
    def test_arns_follow_from_ids(
        self, inventory: FakeHoldings, kind: str, id_: str, arn: str
    ) -> None:
        record = inventory.add(
            "dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET, X=(kind, id_, "DELETE_COMPLETE")
        )
        entry = inventory.templates[record.arn]["Resources"]["Bucket"]
        entry["Properties"] = {"Who": {"Fn::GetAtt": ["X", "Arn"]}}
        (found,) = plan(inventory).resources
        assert found.definition["Properties"] == {"Who": arn}

    def test_what_nobody_remembers_is_said(self, inventory: FakeHoldings) -> None:
        record = inventory.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        entry = inventory.templates[record.arn]["Resources"]["Bucket"]
        entry["Properties"] = {"Who": {"Fn::GetAtt": ["Lost", "Arn"]}}
        (other,) = plan(inventory).others
        assert other.problem == "it refers to Lost, whose id is lost"

    def test_several_identifiers_come_from_the_definition(self, inventory: FakeHoldings) -> None:
        block = ("AWS::EC2::VPCCidrBlock", "vpc-cidr-assoc-1", "CREATE_COMPLETE")
        record = inventory.add("dev-network", "DELETE_FAILED", Vpc=VPC, Block=block)
        entry = inventory.templates[record.arn]["Resources"]["Block"]
        entry["Properties"] = {"VpcId": {"Ref": "Vpc"}}
        found = {each.resource.logical_id: each.identifier for each in plan(inventory).resources}
        assert found["Block"] == {"Id": "vpc-cidr-assoc-1", "VpcId": "vpc-1"}

    def test_everything_imported_has_a_deletion_policy(self, inventory: FakeHoldings) -> None:
        record = inventory.add("dev-network", "DELETE_FAILED", Vpc=VPC)
        del inventory.templates[record.arn]["Resources"]["Vpc"]["DeletionPolicy"]
        (found,) = plan(inventory).resources
        assert found.definition["DeletionPolicy"] == "Retain"


class TestFileSystems:
    def test_the_main_one_is_named_in_place_of_its_section(self, inventory: FakeHoldings) -> None:
        inventory.add("dev-network", "CREATE_COMPLETE", Vpc=VPC)
        inventory.systems.append(file_system("fs-11111111", "dev"))
        (lines,) = plan(inventory).lines
        assert lines.place == "storage.lustre"
        assert lines.section == {
            "mount_path": "/fsx",
            "existing": {"id": "fs-11111111", "mount_name": "abcdefgh"},
        }
        assert (lines.suppress or {})["rule"] == "EXN-009"
        assert lines.warning == ""

    def test_additional_ones_by_their_names(self, inventory: FakeHoldings) -> None:
        text = SOUND.replace("cluster:", f"{SCRATCH}cluster:")
        inventory.systems.append(file_system("fs-11111111", "dev-scratch"))
        inventory.systems.append(file_system("fs-22222222", "dev-old"))
        known, unknown = plan(inventory, text=text).lines
        assert known.place == "storage.additional_lustre[0]"
        assert known.section["mount_path"] == "/scratch"
        assert (unknown.place, unknown.section["name"]) == ("", "old")

    def test_openzfs(self, inventory: FakeHoldings) -> None:
        inventory.systems.append(file_system("fs-11111111", "dev-openzfs", kind="OPENZFS"))
        (lines,) = plan(inventory).lines
        assert lines.place == "storage.openzfs"
        assert lines.section == {"mount_path": "/home", "existing": {"id": "fs-11111111"}}

    def test_one_that_a_stack_holds_is_not_left(self, inventory: FakeHoldings) -> None:
        inventory.systems.append(file_system("fs-11111111", "dev"))
        held = ("AWS::FSx::FileSystem", "fs-11111111", "CREATE_COMPLETE")
        inventory.add("dev-storage", "CREATE_COMPLETE", Lustre=held)
        assert plan(inventory).is_empty

    def test_one_that_is_written_already_is_not_left(self, inventory: FakeHoldings) -> None:
        inventory.systems.append(file_system("fs-11111111", "dev"))
        existing = "existing: {id: fs-11111111, mount_name: abcdefgh}"
        assert plan(inventory, text=SOUND.replace("capacity_gib: 1200", existing)).is_empty

    def test_one_in_a_strange_vpc_comes_with_a_warning(self, inventory: FakeHoldings) -> None:
        inventory.add("dev-network", "CREATE_COMPLETE", Vpc=VPC)
        inventory.systems.append(file_system("fs-11111111", "dev", vpc_id="vpc-2"))
        (lines,) = plan(inventory).lines
        assert "network.existing" in lines.warning
        assert lines.suppress is None

    def test_those_of_the_former_name(self, inventory: FakeHoldings) -> None:
        inventory.systems.append(file_system("fs-11111111", "trial", environment="trial"))
        (lines,) = plan(inventory, former="trial").lines
        assert lines.place == "storage.lustre"


class TestDoing:
    def test_all_is_prepared_before_anything_is_done(self, inventory: FakeHoldings) -> None:
        inventory.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        inventory.add("dev-network", "DELETE_FAILED", Vpc=VPC, Subnet=SUBNET)
        imports = FakeImports(inventory)
        done = do(inventory, imports)
        assert imports.calls == [
            "clear dev-network",
            "prepare dev-network",
            "prepare dev-lifecycle",
            "execute dev-network",
            "execute dev-lifecycle",
        ]
        assert len(done.resources) == 3

    def test_one_refusal_undoes_what_was_prepared(self, inventory: FakeHoldings) -> None:
        inventory.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        vpc: Any = (*VPC[:2], "DELETE_SKIPPED")
        inventory.add("dev-network", "DELETE_COMPLETE", Vpc=vpc)
        imports = FakeImports(inventory, refused={"dev-lifecycle"})
        with pytest.raises(ImportRefused, match="dev-lifecycle: no"):
            do(inventory, imports)
        assert imports.calls == ["prepare dev-network", "discard dev-network"]

    def test_a_renamed_environment_takes_into_stacks_of_its_name(
        self, inventory: FakeHoldings
    ) -> None:
        inventory.add("trial-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        imports = FakeImports(inventory)
        do(inventory, imports, former="trial")
        (done,) = imports.done
        assert done.stack == "dev-lifecycle"
        assert done.resources == [
            {
                "ResourceType": "AWS::S3::Bucket",
                "LogicalResourceId": "Bucket",
                "ResourceIdentifier": {"BucketName": "sagemaker-dev"},
            }
        ]
        assert done.template["Resources"]["Bucket"]["DeletionPolicy"] == "Retain"
        assert done.tags == {"slurmpod:environment": "trial"}
