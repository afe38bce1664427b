"""An environment is destroyed, taken back with `slurmpod adopt`, and deployed again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from tests.cloud.cdk_account import ACCOUNT, REGION, Account
from tests.golden_files import ROOT

BUCKET = "sagemaker-dev-123456789012-us-west-2"
MARKER = {"Key": "marker", "Value": "three years of checkpoints"}
NETWORK = {"AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup"}


@dataclass
class Life:
    """What was done to the environment, and what was seen on the way."""

    account: Account
    folder: Path
    facts: dict[str, Any] = field(default_factory=dict)

    def write(self, name: str, data: dict[str, Any]) -> Path:
        file = self.folder / name / "dev.yaml"
        file.parent.mkdir()
        file.write_text(yaml.safe_dump(data, sort_keys=False))
        return file

    def synthesize(self, file: Path) -> str:
        assembly = str(file.parent / "cdk.out")
        self.account.cdk("synth", "--quiet", "--context", f"env={file}", "--output", assembly)
        return assembly

    def deploy(self, assembly: str) -> None:
        """Deploy with the CDK alone, which takes in what is there and has a name of a stack's."""
        options = ("--require-approval", "never", "--ci", "--import-existing-resources")
        self.account.cdk("deploy", "--all", "--app", assembly, *options)

    def import_bucket(self, assembly: str) -> None:
        """Take a bucket that is there into the lifecycle stack, with `cdk import` alone."""
        s3, cloudformation = self.account.client("s3"), self.account.client("cloudformation")
        s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        s3.put_object(Bucket=BUCKET, Key="notes/run-1.txt", Body=b"loss 9.1")
        template = json.loads((Path(assembly) / "dev-lifecycle.template.json").read_text())
        (bucket,) = (k for k, v in template["Resources"].items() if v["Type"] == "AWS::S3::Bucket")
        mapping = json.dumps({bucket: {"BucketName": BUCKET}})
        self.facts["cdk import"] = self.account.run_cdk(
            "import", "dev-lifecycle", "--app", assembly, "--resource-mapping-inline", mapping
        )
        self.facts["imported"] = cloudformation.describe_stack_resources(StackName="dev-lifecycle")[
            "StackResources"
        ]
        cloudformation.delete_stack(StackName="dev-lifecycle")
        waiter = cloudformation.get_waiter("stack_delete_complete")
        waiter.wait(StackName="dev-lifecycle", WaiterConfig={"Delay": 1})

    def remember(self, moment: str) -> None:
        account = self.account
        listed = account.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="notes/")
        vpcs = account.client("ec2").describe_vpcs()["Vpcs"]
        groups = account.client("logs").describe_log_groups()["logGroups"]
        self.facts[moment] = {
            "file systems": {
                each["FileSystemId"]: MARKER in each["Tags"]
                for each in account.client("fsx").describe_file_systems()["FileSystems"]
            },
            "notes": [each["Key"] for each in listed.get("Contents", [])],
            "vpcs": [each["VpcId"] for each in vpcs if not each["IsDefault"]],
            "flow logs": [g["logGroupName"] for g in groups if "FlowLogs" in g["logGroupName"]],
            "stacks": account.stacks(),
        }

    def mark(self) -> None:
        """Leave something in the bucket and on the file system that only they have."""
        s3, fsx = self.account.client("s3"), self.account.client("fsx")
        s3.put_object(Bucket=BUCKET, Key="notes/run-7.txt", Body=b"loss 0.3")
        (file_system,) = fsx.describe_file_systems()["FileSystems"]
        fsx.tag_resource(ResourceARN=file_system["ResourceARN"], Tags=[MARKER])


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """Deploy, mark, destroy, adopt, write what is to be written, adopt and deploy again."""
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        life = Life(Account(aws), tmp_path_factory.mktemp("life"))
        slurmpod = life.account.slurmpod
        dev = yaml.safe_load((ROOT / "environments" / "dev.yaml").read_text())
        file = life.write("first", dev)
        assembly = life.synthesize(file)
        life.account.bootstrap()
        life.facts["before anything"] = slurmpod("adopt", str(file))
        life.import_bucket(assembly)
        life.deploy(assembly)
        life.mark()
        life.remember("deployed")
        life.facts["while deployed"] = slurmpod("adopt", str(file))
        life.facts["destroy"] = life.account.run_cdk(
            "destroy", "--all", "--app", assembly, "--force"
        )
        life.facts["deploy at once"] = life.account.run_cdk(
            "deploy", "dev-network", "--app", assembly, "--require-approval", "never"
        )
        life.remember("destroyed")
        life.facts["protected"] = slurmpod("adopt", str(life.write("protected", dev | PROTECTED)))
        life.facts["plan"] = slurmpod("adopt", str(file))
        life.facts["json"] = slurmpod("adopt", str(file), "--json")
        life.remember("planned")
        life.facts["adopt"] = slurmpod("adopt", str(file), "--yes")
        life.facts["adopt again"] = slurmpod("adopt", str(file), "--yes")
        (found,) = json.loads(life.facts["json"].stdout)["file_systems"]
        dev["storage"]["lustre"] = found["section"]
        dev["suppress"] = [found["suppress"]]
        written = life.write("second", dev)
        life.facts["written"] = slurmpod("adopt", str(written))
        life.facts["valid"] = slurmpod("validate", str(written))
        assembly = life.synthesize(written)
        life.account.deploy(assembly)
        life.remember("deployed again")
        life.facts["cdk diff"] = life.account.run_cdk("diff", "--app", assembly, "--fail")
        life.facts["diff"] = slurmpod("diff", str(written))
        yield life


PROTECTED = {"protected": True}


def result(life: Life, step: str) -> subprocess.CompletedProcess[str]:
    found: subprocess.CompletedProcess[str] = life.facts[step]
    return found


class TestNothingToAdopt:
    @pytest.mark.parametrize("step", ["before anything", "while deployed"])
    def test_it_says_so(self, life: Life, step: str) -> None:
        done = result(life, step)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "dev: no resources are left outside of stacks\n"


class TestWithTheCdkAlone:
    def test_cdk_import_takes_a_bucket_in(self, life: Life) -> None:
        assert result(life, "cdk import").returncode == 0, result(life, "cdk import").stdout
        (bucket,) = life.facts["imported"]
        assert (bucket["PhysicalResourceId"], bucket["ResourceStatus"]) == (
            BUCKET,
            "IMPORT_COMPLETE",
        )

    def test_a_deployment_takes_in_what_has_its_name(self, life: Life) -> None:
        assert life.facts["deployed"]["notes"] == ["notes/run-1.txt", "notes/run-7.txt"]


class TestDestroyed:
    def test_the_network_is_what_destroying_stops_at(self, life: Life) -> None:
        assert result(life, "destroy").returncode == 1
        assert life.facts["destroyed"]["stacks"] == {"CDKToolkit", "dev-network"}

    def test_cloudformation_refuses_to_deploy_over_it(self, life: Life) -> None:
        refused = result(life, "deploy at once")
        assert refused.returncode == 1
        assert "DELETE_FAILED" in refused.stdout

    @pytest.mark.parametrize("what", ["file systems", "notes", "vpcs", "flow logs"])
    def test_all_that_counts_is_there(self, life: Life, what: str) -> None:
        assert life.facts["destroyed"][what] == life.facts["deployed"][what]


class TestPlan:
    def test_it_changes_nothing(self, life: Life) -> None:
        assert life.facts["planned"] == life.facts["destroyed"]
        done = result(life, "plan")
        assert (
            done.returncode,
            "only the plan; run it again with --yes" in done.stderr,
        ) == (
            1,
            True,
        )

    def test_it_names_what_is_taken_back_and_what_is_to_be_written(self, life: Life) -> None:
        ((file_system, _),) = life.facts["destroyed"]["file systems"].items()
        shown = result(life, "plan").stdout
        assert f"AWS::S3::Bucket {BUCKET} of dev-lifecycle" in shown
        assert f"AWS::EC2::VPC {life.facts['destroyed']['vpcs'][0]} of dev-network" in shown
        assert "the failed stack dev-network (DELETE_FAILED) is deleted" in shown
        assert f"{file_system}, Lustre, 1200 GiB" in shown
        assert "replaces storage.lustre:\n      mount_path: /fsx\n      existing:\n" in shown
        assert f"        id: {file_system}\n" in shown

    def test_the_same_as_data(self, life: Life) -> None:
        data = json.loads(result(life, "json").stdout)
        types = {each["type"] for each in data["imports"]}
        assert types == {*NETWORK, "AWS::S3::Bucket", "AWS::Logs::LogGroup"}
        assert data["failed_stacks"] == [{"name": "dev-network", "status": "DELETE_FAILED"}]
        assert data["others"] == []

    def test_a_protected_environment_wants_its_name_typed(self, life: Life) -> None:
        done = result(life, "protected")
        assert (done.returncode, "type its name" in done.stderr) == (1, True)


class TestAdoption:
    def test_it_says_what_was_done_and_what_is_still_to_do(self, life: Life) -> None:
        done = result(life, "adopt")
        assert "dev has adopted 5 resources" in done.stderr
        assert "still to do: add the lines above" in done.stderr
        assert done.returncode == 1

    def test_again_it_finds_only_what_is_to_be_written(self, life: Life) -> None:
        done = result(life, "adopt again")
        assert "CloudFormation import:" not in done.stdout
        assert "to add to " in done.stdout

    def test_what_is_written_is_no_longer_left(self, life: Life) -> None:
        assert result(life, "valid").returncode == 0, result(life, "valid").stderr
        done = result(life, "written")
        assert (done.returncode, done.stdout) == (
            0,
            "dev: no resources are left outside of stacks\n",
        )


class TestDeployedAgain:
    @pytest.mark.parametrize("what", ["file systems", "notes", "vpcs", "flow logs"])
    def test_it_has_what_it_had(self, life: Life, what: str) -> None:
        assert life.facts["deployed again"][what] == life.facts["deployed"][what]

    def test_its_stacks_hold_all_but_the_file_system(self, life: Life) -> None:
        before = life.facts["deployed"]["stacks"]
        assert life.facts["deployed again"]["stacks"] == before - {"dev-storage"}

    def test_nothing_differs(self, life: Life) -> None:
        assert "Number of stacks with differences: 0" in result(life, "cdk diff").stdout
        done = result(life, "diff")
        assert (done.returncode, done.stdout) == (0, "dev: no changes\n")
