"""All environments of this repository together through their life: deployed, unchanged, destroyed.

The real CDK CLI does it, with one app and against one embedded AWS that has what environments name
as the user's own: networks, keys, buckets.
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

PROJECT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CDK = PROJECT / "node_modules/.bin/cdk"
UNUSED_REGIONS = ("ca-west-1", "sa-east-1")
AT_ONCE = "8"
"""Stacks that the CDK CLI deploys side by side."""


@cache
def environments() -> dict[str, Resolved]:
    """Return what follows from every file, by name."""
    return {name: sound_environment(file).resolved for name, file in FILES.items()}


def regions() -> list[str]:
    return sorted({resolved.region for resolved in environments().values()})


@dataclass(frozen=True)
class Step:
    """A command of the CDK CLI: how it ended, the last it printed, and the stacks after it."""

    status: int
    printed: str
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
        self.steps[step] = Step(done.returncode, done.stdout[-2000:], self.stacks())

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
    account.cdk(
        "deploy", "deploy", "--all", *app, "--require-approval", "never", "--concurrency", AT_ONCE
    )
    account.cdk("diff", "diff", "--all", *app, "--fail")
    unprotect(account)
    above = above_the_network(environments().values())
    account.cdk("destroy", "destroy", *above, *app, "--exclusively", "--force")
    account.cdk("blocked", "destroy", "dev-network", *app, "--force")
    for region in regions():
        clients = account.aws.clients(region)
        delete_databases(clients.service("rds"), clients.ec2)
        delete_file_systems(clients.fsx)
        delete_notebooks(clients.sagemaker)
    account.cdk("destroy the rest", "destroy", "--all", *app, "--force")


def above_the_network(environments: Iterable[Resolved]) -> list[str]:
    """Return all stacks but those that the kept file systems stand on."""
    return [
        stack
        for resolved in environments
        for stack in resolved.stacks.in_order()
        if stack != resolved.stacks.network
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
def test_the_cdk_command_line_succeeds(account: Account, step: str) -> None:
    assert account.steps[step].status == 0, account.steps[step].printed


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
    assert "Number of stacks with differences: 0" in account.steps["diff"].printed


@pytest.mark.parametrize("name", FILES)
def test_what_stands_on_the_network_is_destroyed_first(account: Account, name: str) -> None:
    network = {environments()[name].stacks.network} & set(environments()[name].stacks.in_order())
    assert account.steps["destroy"].stacks[name].keys() == network


def test_data_does_not_end_with_its_stack(account: Account) -> None:
    assert account.steps["blocked"].status == 1
    assert account.steps["blocked"].stacks["dev"] == {"dev-network": "DELETE_FAILED"}


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_left_once_the_data_was_deleted(account: Account, name: str) -> None:
    assert account.steps["destroy the rest"].stacks[name] == {}
