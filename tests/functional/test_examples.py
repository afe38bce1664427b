"""All environments of this repository together through their life: deployed, unchanged, destroyed.

The real CDK CLI synthesizes them with one app, and compares them with what was deployed. One
embedded AWS has what environments name as the user's own: networks, keys, buckets. Its API is asked
to make and to delete the stacks: test_embedded_aws.py has the CDK CLI do that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.isolation import isolated_environment
from embedded_aws.server import EmbeddedAws
from embedded_aws.templates.template import read_template
from slurmpod.cli.environment import sound_environment
from slurmpod.rehearsal.bootstrap import STACK, bootstrap
from slurmpod.rehearsal.existing_resources import make_existing_resources
from slurmpod.resolve import Resolved
from tests.conftest import CDK_VALIDATION
from tests.environment_files import FILES
from tests.functional.assemblies import deploy
from tests.functional.embedded_stacks import Stacks

PROJECT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CDK = PROJECT / "node_modules/.bin/cdk"
UNUSED_REGIONS = ("ca-west-1", "sa-east-1")


@cache
def environments() -> dict[str, Resolved]:
    """Return what follows from every file, by name."""
    return {name: sound_environment(file).resolved for name, file in FILES.items()}


def regions() -> list[str]:
    return sorted({resolved.region for resolved in environments().values()})


@dataclass(frozen=True)
class Step:
    """What was done: whether it succeeded, what was said of it, and the stacks after it."""

    succeeded: bool
    said: str
    stacks: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Account:
    """An account of the embedded AWS, the assembly of all environments, and what was done."""

    aws: EmbeddedAws
    assembly: Path
    steps: dict[str, Step] = field(default_factory=dict)

    def cdk(self, step: str, *arguments: str) -> None:
        """Run the CDK CLI and remember it as `step`."""
        isolated = isolated_environment(os.environ, self.aws.environment())
        done = subprocess.run(
            [CDK, *arguments, "--ci", "--no-color"],
            env={
                **isolated,
                "PATH": f"{BIN}:{isolated['PATH']}",
                CDK_VALIDATION: "true",
                "SLURMPOD_HOME": os.devnull,  # nothing is taken from an earlier synthesis
            },
            cwd=PROJECT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.steps[step] = Step(done.returncode == 0, done.stdout[-2000:], self.stacks())

    def deploy(self) -> None:
        """Deploy all stacks and remember it."""
        reasons = [each.reasons for each in deploy(self.aws.clients, self.assembly).values()]
        self.steps["deploy"] = Step(not any(reasons), "\n".join(reasons), self.stacks())

    def destroy(self, step: str, stacks: Iterable[tuple[str, str]]) -> None:
        """Delete stacks, each named with its Region, and remember it as `step`."""
        reasons = [
            Stacks(self.aws.clients(region)).delete(stack).reasons for region, stack in stacks
        ]
        self.steps[step] = Step(not any(reasons), "\n".join(reasons), self.stacks())

    def stacks(self) -> dict[str, dict[str, str]]:
        """Return the state of every stack that there is, by environment."""
        states = {region: self._states(region) for region in regions()}
        return {
            name: {
                stack: states[resolved.region][stack]
                for stack in resolved.stacks.in_order()
                if stack in states[resolved.region]
            }
            for name, resolved in environments().items()
        }

    def _states(self, region: str) -> dict[str, str]:
        """Return the state of every stack of a Region, asked once for all environments in it."""
        stacks = self.aws.clients(region).service("cloudformation").describe_stacks()["Stacks"]
        return {stack["StackName"]: stack["StackStatus"] for stack in stacks}


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    (number,) = {resolved.account for resolved in environments().values()}
    with EmbeddedAws(account=number, region=regions()[0]) as aws:
        aws.start(CloudOnlyPlatform())
        account = Account(aws, tmp_path_factory.mktemp("assembly"))
        for resolved in environments().values():
            make_existing_resources(aws.clients(resolved.region), resolved)
        account.cdk(
            "bootstrap", "bootstrap", *(f"aws://{number}/{each}" for each in regions()), "--app", ""
        )
        live(account)
        yield account


def live(account: Account) -> None:
    """Deploy everything, look for differences, and destroy it as far as AWS lets one."""
    app = ("--app", str(account.assembly))
    account.cdk("synth", "synth", "--quiet", "-c", "env=all", "--output", str(account.assembly))
    account.deploy()
    account.cdk("diff", "diff", "--all", *app, "--fail")
    unprotect(account)
    account.destroy("destroy", above_the_network(environments().values()))
    account.destroy("blocked", [(environments()["dev"].region, "dev-network")])
    for region in regions():
        clients = account.aws.clients(region)
        delete_databases(clients.service("rds"), clients.ec2)
        delete_file_systems(clients.fsx)
        delete_notebooks(clients.sagemaker)
    account.destroy("destroy the rest", left(account))


def above_the_network(environments: Iterable[Resolved]) -> list[tuple[str, str]]:
    """Return all stacks but those that the kept file systems stand on, the last ones first."""
    return [
        (resolved.region, stack)
        for resolved in environments
        for stack in reversed(resolved.stacks.in_order())
        if stack != resolved.stacks.network
    ]


def left(account: Account) -> list[tuple[str, str]]:
    """Return the stacks that there are, but those of the bootstrap."""
    return [
        (environments()[name].region, stack)
        for name, stacks in account.stacks().items()
        for stack in stacks
    ]


def unprotect(account: Account) -> None:
    for resolved in environments().values():
        cloudformation = account.aws.clients(resolved.region).service("cloudformation")
        for stack in resolved.stacks.in_order():
            cloudformation.update_termination_protection(
                StackName=stack, EnableTerminationProtection=False
            )


def delete_databases(rds: Any, ec2: Any) -> None:
    """Delete the servers that were kept, knowingly, and what they stood on."""
    for each in rds.describe_db_instances()["DBInstances"]:
        which = {"DBInstanceIdentifier": each["DBInstanceIdentifier"]}
        assert each["DeletionProtection"]
        rds.modify_db_instance(**which, DeletionProtection=False, ApplyImmediately=True)
        rds.delete_db_instance(**which, SkipFinalSnapshot=True)
        rds.delete_db_subnet_group(DBSubnetGroupName=each["DBSubnetGroup"]["DBSubnetGroupName"])
        for group in each["VpcSecurityGroups"]:
            ec2.delete_security_group(GroupId=group["VpcSecurityGroupId"])


def delete_file_systems(fsx: Any) -> None:
    """Delete the file systems that were kept."""
    for each in fsx.describe_file_systems()["FileSystems"]:
        fsx.delete_file_system(FileSystemId=each["FileSystemId"])


def delete_notebooks(sagemaker: Any) -> None:
    """Delete the notebook instances that were kept, which only stopped ones can be."""
    for each in sagemaker.list_notebook_instances()["NotebookInstances"]:
        which = {"NotebookInstanceName": each["NotebookInstanceName"]}
        sagemaker.stop_notebook_instance(**which)
        sagemaker.delete_notebook_instance(**which)


@pytest.mark.parametrize("step", ["bootstrap", "synth", "deploy", "diff", "destroy"])
def test_every_step_succeeds(account: Account, step: str) -> None:
    assert account.steps[step].succeeded, account.steps[step].said


def test_a_rehearsal_bootstraps_its_account_as_the_command_does(account: Account) -> None:
    here = next(each for each in UNUSED_REGIONS if each not in regions())
    bootstrap(account.aws.clients(here).service("cloudformation"))
    commands, ours = (toolkit(account, region) for region in (regions()[0], here))
    assert ours == commands


def toolkit(account: Account, region: str) -> tuple[Any, Any, Any]:
    """Return the template, the parameters and the resources of the stack of a bootstrap."""
    cloudformation = account.aws.clients(region).service("cloudformation")
    (stack,) = cloudformation.describe_stacks(StackName=STACK)["Stacks"]
    parameters = {each["ParameterKey"]: each["ParameterValue"] for each in stack["Parameters"]}
    listed = cloudformation.describe_stack_resources(StackName=STACK)["StackResources"]
    resources = [(each["LogicalResourceId"], each["ResourceStatus"]) for each in listed]
    template = read_template(cloudformation.get_template(StackName=STACK)["TemplateBody"])
    return template, parameters, sorted(resources)


@pytest.mark.parametrize("name", FILES)
def test_every_stack_is_deployed(account: Account, name: str) -> None:
    made = dict.fromkeys(environments()[name].stacks.in_order(), "CREATE_COMPLETE")
    assert account.steps["deploy"].stacks[name] == made


def test_nothing_differs_from_what_was_deployed(account: Account) -> None:
    assert "Number of stacks with differences: 0" in account.steps["diff"].said


@pytest.mark.parametrize("name", FILES)
def test_what_stands_on_the_network_is_destroyed_first(account: Account, name: str) -> None:
    network = {environments()[name].stacks.network} & set(environments()[name].stacks.in_order())
    assert account.steps["destroy"].stacks[name].keys() == network


def test_data_does_not_end_with_its_stack(account: Account) -> None:
    assert not account.steps["blocked"].succeeded
    assert account.steps["blocked"].stacks["dev"] == {"dev-network": "DELETE_FAILED"}


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_left_once_the_data_was_deleted(account: Account, name: str) -> None:
    assert account.steps["destroy the rest"].stacks[name] == {}
