"""Every environment of this repository, once through its life: deployed, unchanged, destroyed.

The real CDK CLI does it, against one embedded AWS that has what an environment names as the user's
own: networks, keys, buckets.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.isolation import isolated_environment
from embedded_aws.server import EmbeddedAws
from slurmpod.cli.environment import sound_environment
from slurmpod.reading.extends import environment_files
from slurmpod.rehearsal.existing_resources import make_existing_resources
from slurmpod.resolve import Resolved

PROJECT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CDK = PROJECT / "node_modules/.bin/cdk"
FILES = {
    file.stem: file
    for folder in ("environments", "environments/examples")
    for file in environment_files(PROJECT / folder)
}
ENVIRONMENTS = {name: sound_environment(file).resolved for name, file in FILES.items()}


@dataclass(frozen=True)
class Account:
    """An account of the embedded AWS, and every environment's assembly."""

    aws: EmbeddedAws
    assemblies: Path

    def cdk(self, *arguments: str) -> tuple[int, str]:
        """Run the CDK CLI; return its exit status and the last of what it printed."""
        isolated = isolated_environment(os.environ, self.aws.environment())
        done = subprocess.run(
            [CDK, *arguments, "--ci", "--no-color"],
            env={**isolated, "PATH": f"{BIN}:{isolated['PATH']}"},
            cwd=self.assemblies,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout[-2000:]

    def stacks(self, resolved: Resolved) -> dict[str, str]:
        """Return the state of every stack of an environment that there is."""
        stacks = self.service(resolved.region, "cloudformation").describe_stacks()["Stacks"]
        states = {stack["StackName"]: stack["StackStatus"] for stack in stacks}
        return {name: states[name] for name in resolved.stacks.in_order() if name in states}

    def service(self, region: str, name: str) -> Any:
        """Return a client."""
        return self.aws.clients(region).service(name)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    assemblies = tmp_path_factory.mktemp("assemblies")
    subprocess.run(
        [sys.executable, "-m", "tests.functional.example_assemblies", assemblies],
        cwd=PROJECT,
        env={**os.environ, "TMPDIR": str(assemblies)},
        check=True,
    )
    (number,) = {resolved.account for resolved in ENVIRONMENTS.values()}
    regions = sorted({resolved.region for resolved in ENVIRONMENTS.values()})
    with EmbeddedAws(account=number, region=regions[0]) as aws:
        aws.start(CloudOnlyPlatform())
        account = Account(aws, assemblies)
        status, printed = account.cdk("bootstrap", *(f"aws://{number}/{each}" for each in regions))
        assert status == 0, printed
        yield account


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_is_deployed_has_no_difference_and_is_destroyed(account: Account, name: str) -> None:
    resolved = ENVIRONMENTS[name]
    make_existing_resources(account.aws.clients(resolved.region), resolved)
    app = ("--app", name)

    status, printed = account.cdk("deploy", "--all", *app, "--require-approval", "never")
    assert status == 0, printed
    made = dict.fromkeys(resolved.stacks.in_order(), "CREATE_COMPLETE")
    assert account.stacks(resolved) == made

    status, printed = account.cdk("diff", "--all", *app, "--fail")
    assert status == 0, printed
    assert "Number of stacks with differences: 0" in printed

    unprotect(account, resolved)
    status, printed = account.cdk("destroy", "--all", *app, "--force")
    delete_databases(account, resolved)
    if delete_file_systems(account, resolved) and not resolved.network.existing:
        assert status == 1, "data does not end with its stack"
        delete_network(account, resolved)
    else:
        assert status == 0, printed
    assert account.stacks(resolved) == {}


def unprotect(account: Account, resolved: Resolved) -> None:
    for stack in resolved.stacks.in_order():
        account.service(resolved.region, "cloudformation").update_termination_protection(
            StackName=stack, EnableTerminationProtection=False
        )


def delete_network(account: Account, resolved: Resolved) -> None:
    """Delete what the file systems had kept."""
    cloudformation = account.service(resolved.region, "cloudformation")
    cloudformation.delete_stack(StackName=resolved.stacks.network)
    waiter = cloudformation.get_waiter("stack_delete_complete")
    waiter.wait(StackName=resolved.stacks.network, WaiterConfig={"Delay": 1})


def delete_databases(account: Account, resolved: Resolved) -> None:
    """Delete the servers that were kept, knowingly, and what they stood on."""
    rds, ec2 = (account.service(resolved.region, name) for name in ("rds", "ec2"))
    for each in rds.describe_db_instances()["DBInstances"]:
        which = {"DBInstanceIdentifier": each["DBInstanceIdentifier"]}
        assert each["DeletionProtection"]
        rds.modify_db_instance(**which, DeletionProtection=False, ApplyImmediately=True)
        rds.delete_db_instance(**which, SkipFinalSnapshot=True)
        rds.delete_db_subnet_group(DBSubnetGroupName=each["DBSubnetGroup"]["DBSubnetGroupName"])
        for group in each["VpcSecurityGroups"]:
            ec2.delete_security_group(GroupId=group["VpcSecurityGroupId"])


def delete_file_systems(account: Account, resolved: Resolved) -> bool:
    """Delete the file systems that were kept; tell whether there are any."""
    fsx = account.service(resolved.region, "fsx")
    kept = fsx.describe_file_systems()["FileSystems"]
    for each in kept:
        fsx.delete_file_system(FileSystemId=each["FileSystemId"])
    return bool(kept)
