"""What is left of earlier deployments, and how an environment takes it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from slurmpod.aws.imports import ImportRefused
from slurmpod.cli.environment import sound_environment
from slurmpod.model.loader import load_text
from slurmpod.operations.adopt import adopt, plan_adoption
from slurmpod.operations.leftovers import stack_names
from tests.golden_files import ROOT
from tests.sound_environment import SOUND
from tests.unit.operations.fakes import FakeHoldings, FakeImports, file_system

if TYPE_CHECKING:
    from pathlib import Path

    from slurmpod.aws.holdings import Holdings
    from slurmpod.aws.imports import Imports
    from slurmpod.model.environment import Environment
    from slurmpod.operations.adopt import Adoption

BUCKET = ("AWS::S3::Bucket", "sagemaker-dev", "DELETE_SKIPPED")
VPC = ("AWS::EC2::VPC", "vpc-1", "CREATE_COMPLETE")
SCRATCH = """\
  additional_lustre:
    - name: scratch
      mount_path: /scratch
"""
SUBNET = ("AWS::EC2::Subnet", "subnet-1", "DELETE_FAILED")


@pytest.fixture
def holdings() -> FakeHoldings:
    return FakeHoldings()


def environment(text: str = SOUND) -> Environment:
    loaded = load_text("dev.yaml", text)
    assert loaded.environment is not None, loaded.problems
    return loaded.environment


def plan(holdings: FakeHoldings, former: str = "dev", text: str = SOUND) -> Adoption:
    return plan_adoption(cast("Holdings", holdings), former, environment(text))


def do(holdings: FakeHoldings, imports: FakeImports, former: str = "dev") -> Adoption:
    return adopt(cast("Holdings", holdings), cast("Imports", imports), former, environment())


@pytest.mark.parametrize("file", sorted((ROOT / "environments").rglob("[!_]*.yaml")))
def test_every_stack_of_an_environment_is_looked_at(file: Path) -> None:
    resolved = sound_environment(file).resolved
    stacks, every = resolved.stacks.in_order(), stack_names(resolved.name)
    assert [each for each in every if each in stacks] == list(stacks)


class TestPlan:
    def test_of_an_account_without_history_is_empty(self, holdings: FakeHoldings) -> None:
        assert plan(holdings).is_empty

    def test_what_a_stack_has_is_not_left(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        kind, name, _ = BUCKET
        holdings.add("dev-lifecycle", "UPDATE_COMPLETE", Bucket=(kind, name, "CREATE_COMPLETE"))
        assert plan(holdings).is_empty

    def test_what_was_deleted_since_is_not_left(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        holdings.gone.add("sagemaker-dev")
        assert plan(holdings).is_empty

    def test_of_two_in_one_place_the_newer_takes_it(self, holdings: FakeHoldings) -> None:
        for name in ("old", "new"):
            holdings.add("dev-x", "DELETE_COMPLETE")
            holdings.add(
                "dev-lifecycle", "DELETE_COMPLETE", B=("AWS::S3::Bucket", name, "DELETE_SKIPPED")
            )
        found = plan(holdings)
        assert [each.resource.physical_id for each in found.resources] == ["new"]
        assert [(each.resource.physical_id, each.problem) for each in found.others] == [
            ("old", "a newer one takes its place")
        ]

    def test_what_is_left_of_a_stack_that_was_made_anew_stays(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        holdings.add("dev-lifecycle", "CREATE_COMPLETE")
        (other,) = plan(holdings).others
        assert other.problem == "its stack was made anew without it"

    def test_what_cloudformation_cannot_import_is_named(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-access", "DELETE_COMPLETE", A=("AWS::X::Y", "y-1", "DELETE_SKIPPED"))
        (other,) = plan(holdings).others
        assert other.problem == "CloudFormation cannot import AWS::X::Y"

    def test_a_failed_deletion_leaves_what_it_did_not_delete(self, holdings: FakeHoldings) -> None:
        gone = ("AWS::EC2::Subnet", "subnet-2", "DELETE_COMPLETE")
        holdings.add("dev-network", "DELETE_FAILED", Vpc=VPC, Subnet=SUBNET, Public=gone)
        found = plan(holdings)
        assert [each.name for each in found.failed] == ["dev-network"]
        assert [each.resource.physical_id for each in found.resources] == ["vpc-1", "subnet-1"]

    def test_a_failed_creation_is_the_cdks_matter(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-cluster", "ROLLBACK_COMPLETE")
        assert plan(holdings).is_empty

    def test_unless_it_stands_in_the_way(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        holdings.add("dev-lifecycle", "ROLLBACK_COMPLETE")
        found = plan(holdings)
        assert [each.status for each in found.failed] == ["ROLLBACK_COMPLETE"]
        assert len(found.resources) == 1

    def test_other_environments_are_not_looked_at(self, holdings: FakeHoldings) -> None:
        holdings.add("devel-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        holdings.systems.append(file_system("fs-11111111", "devel", environment="devel"))
        assert plan(holdings).is_empty


class TestDefinitions:
    def test_references_become_the_ids_that_they_stood_for(self, holdings: FakeHoldings) -> None:
        record = holdings.add("dev-network", "DELETE_FAILED", Vpc=VPC, Subnet=SUBNET)
        entry = holdings.templates[record.arn]["Resources"]["Subnet"]
        entry["Properties"] = {"VpcId": {"Ref": "Vpc"}, "Tags": [{"Key": "a", "Value": "b"}]}
        found = {each.resource.logical_id: each.definition for each in plan(holdings).resources}
        assert found["Subnet"]["Properties"] == {
            "VpcId": "vpc-1",
            "Tags": [{"Key": "a", "Value": "b"}],
        }

    def test_outputs_of_other_stacks_as_well(self, holdings: FakeHoldings) -> None:
        network = holdings.add("dev-network", "DELETE_FAILED", Vpc=VPC)
        holdings.templates[network.arn]["Outputs"] = {"V": {"Value": {"Ref": "Vpc"}}}
        record = holdings.add(
            "dev-database", "DELETE_COMPLETE", B=("AWS::S3::Bucket", "b", "DELETE_SKIPPED")
        )
        output = {"Fn::GetStackOutput": {"StackName": "dev-network", "OutputName": "V"}}
        holdings.templates[record.arn]["Resources"]["B"]["Properties"] = {"Vpc": output}
        found = {each.resource.logical_id: each.definition for each in plan(holdings).resources}
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
        self, holdings: FakeHoldings, kind: str, id_: str, arn: str
    ) -> None:
        record = holdings.add(
            "dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET, X=(kind, id_, "DELETE_COMPLETE")
        )
        entry = holdings.templates[record.arn]["Resources"]["Bucket"]
        entry["Properties"] = {"Who": {"Fn::GetAtt": ["X", "Arn"]}}
        (found,) = plan(holdings).resources
        assert found.definition["Properties"] == {"Who": arn}

    def test_what_nobody_remembers_is_said(self, holdings: FakeHoldings) -> None:
        record = holdings.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        entry = holdings.templates[record.arn]["Resources"]["Bucket"]
        entry["Properties"] = {"Who": {"Fn::GetAtt": ["Lost", "Arn"]}}
        (other,) = plan(holdings).others
        assert other.problem == "nobody remembers what Lost was, which it refers to"

    def test_several_identifiers_come_from_the_definition(self, holdings: FakeHoldings) -> None:
        block = ("AWS::EC2::VPCCidrBlock", "vpc-cidr-assoc-1", "CREATE_COMPLETE")
        record = holdings.add("dev-network", "DELETE_FAILED", Vpc=VPC, Block=block)
        entry = holdings.templates[record.arn]["Resources"]["Block"]
        entry["Properties"] = {"VpcId": {"Ref": "Vpc"}}
        found = {each.resource.logical_id: each.identifier for each in plan(holdings).resources}
        assert found["Block"] == {"Id": "vpc-cidr-assoc-1", "VpcId": "vpc-1"}

    def test_everything_imported_has_a_deletion_policy(self, holdings: FakeHoldings) -> None:
        record = holdings.add("dev-network", "DELETE_FAILED", Vpc=VPC)
        del holdings.templates[record.arn]["Resources"]["Vpc"]["DeletionPolicy"]
        (found,) = plan(holdings).resources
        assert found.definition["DeletionPolicy"] == "Retain"


class TestFileSystems:
    def test_the_main_one_is_named_in_place_of_its_section(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-network", "CREATE_COMPLETE", Vpc=VPC)
        holdings.systems.append(file_system("fs-11111111", "dev"))
        (lines,) = plan(holdings).lines
        assert lines.place == "storage.lustre"
        assert lines.section == {
            "mount_path": "/fsx",
            "existing": {"id": "fs-11111111", "mount_name": "abcdefgh"},
        }
        assert (lines.suppress or {})["rule"] == "EXN-009"
        assert lines.warning == ""

    def test_additional_ones_by_their_names(self, holdings: FakeHoldings) -> None:
        text = SOUND.replace("cluster:", f"{SCRATCH}cluster:")
        holdings.systems.append(file_system("fs-11111111", "dev-scratch"))
        holdings.systems.append(file_system("fs-22222222", "dev-old"))
        known, unknown = plan(holdings, text=text).lines
        assert known.place == "storage.additional_lustre[0]"
        assert known.section["mount_path"] == "/scratch"
        assert (unknown.place, unknown.section["name"]) == ("", "old")

    def test_openzfs(self, holdings: FakeHoldings) -> None:
        holdings.systems.append(file_system("fs-11111111", "dev-openzfs", kind="OPENZFS"))
        (lines,) = plan(holdings).lines
        assert lines.place == "storage.openzfs"
        assert lines.section == {"mount_path": "/home", "existing": {"id": "fs-11111111"}}

    def test_one_that_a_stack_holds_is_not_left(self, holdings: FakeHoldings) -> None:
        holdings.systems.append(file_system("fs-11111111", "dev"))
        held = ("AWS::FSx::FileSystem", "fs-11111111", "CREATE_COMPLETE")
        holdings.add("dev-storage", "CREATE_COMPLETE", Lustre=held)
        assert plan(holdings).is_empty

    def test_one_that_is_written_already_is_not_left(self, holdings: FakeHoldings) -> None:
        holdings.systems.append(file_system("fs-11111111", "dev"))
        existing = "existing: {id: fs-11111111, mount_name: abcdefgh}"
        assert plan(holdings, text=SOUND.replace("capacity_gib: 1200", existing)).is_empty

    def test_one_in_a_strange_vpc_comes_with_a_warning(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-network", "CREATE_COMPLETE", Vpc=VPC)
        holdings.systems.append(file_system("fs-11111111", "dev", vpc_id="vpc-2"))
        (lines,) = plan(holdings).lines
        assert "network.existing" in lines.warning
        assert lines.suppress is None

    def test_those_of_the_former_name(self, holdings: FakeHoldings) -> None:
        holdings.systems.append(file_system("fs-11111111", "trial", environment="trial"))
        (lines,) = plan(holdings, former="trial").lines
        assert lines.place == "storage.lustre"


class TestDoing:
    def test_all_is_prepared_before_anything_is_done(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        holdings.add("dev-network", "DELETE_FAILED", Vpc=VPC, Subnet=SUBNET)
        imports = FakeImports(holdings)
        done = do(holdings, imports)
        assert imports.calls == [
            "clear dev-network",
            "prepare dev-network",
            "prepare dev-lifecycle",
            "execute dev-network",
            "execute dev-lifecycle",
        ]
        assert len(done.resources) == 3

    def test_one_refusal_undoes_what_was_prepared(self, holdings: FakeHoldings) -> None:
        holdings.add("dev-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        vpc: Any = (*VPC[:2], "DELETE_SKIPPED")
        holdings.add("dev-network", "DELETE_COMPLETE", Vpc=vpc)
        imports = FakeImports(holdings, refused={"dev-lifecycle"})
        with pytest.raises(ImportRefused, match="dev-lifecycle: no"):
            do(holdings, imports)
        assert imports.calls == ["prepare dev-network", "discard dev-network"]

    def test_a_renamed_environment_takes_into_stacks_of_its_name(
        self, holdings: FakeHoldings
    ) -> None:
        holdings.add("trial-lifecycle", "DELETE_COMPLETE", Bucket=BUCKET)
        imports = FakeImports(holdings)
        do(holdings, imports, former="trial")
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
