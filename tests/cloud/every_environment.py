"""The account in which test_examples.py has all environments, and what is done to them there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from embedded_aws.isolation import isolated_environment
from embedded_aws.server import EmbeddedAws
from slurmpod.cli.environment import sound_environment
from slurmpod.resolve import Resolved
from tests.cloud.assemblies import deploy
from tests.cloud.embedded_stacks import Outcome, Stacks
from tests.conftest import CDK_VALIDATION
from tests.environment_files import FILES

PROJECT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CDK = PROJECT / "node_modules/.bin/cdk"


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
    stacks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Account:
    """An account of the embedded AWS, and the assembly of all environments."""

    aws: EmbeddedAws
    assembly: Path

    def cdk(self, *arguments: str) -> Step:
        """Run the CDK CLI."""
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
        return Step(done.returncode == 0, done.stdout[-2000:])

    def deploy(self, name: str) -> Step:
        """Deploy the stacks of an environment."""
        stacks = environments()[name].stacks.in_order()
        return self._step(name, deploy(self.aws.clients, self.assembly, stacks).values())

    def destroy(self, name: str, stacks: Iterable[str]) -> Step:
        """Delete stacks of an environment."""
        api = Stacks(self.aws.clients(environments()[name].region))
        return self._step(name, [api.delete(stack) for stack in stacks])

    def stacks(self, name: str) -> dict[str, str]:
        """Return the state of every stack of an environment that there is."""
        resolved = environments()[name]
        stacks = self._api(resolved.region).describe_stacks()["Stacks"]
        states = {each["StackName"]: each["StackStatus"] for each in stacks}
        return {each: states[each] for each in resolved.stacks.in_order() if each in states}

    def unprotect(self, name: str) -> None:
        """Let the stacks of an environment be deleted."""
        for stack in self.stacks(name):
            self._api(environments()[name].region).update_termination_protection(
                StackName=stack, EnableTerminationProtection=False
            )

    def delete_data(self) -> None:
        """Delete what outlived the stacks that used it."""
        for region in regions():
            clients = self.aws.clients(region)
            _delete_databases(clients.service("rds"), clients.ec2)
            _delete_file_systems(clients.fsx)
            _delete_notebooks(clients.sagemaker)

    def _step(self, name: str, outcomes: Iterable[Outcome]) -> Step:
        reasons = [each.reasons for each in outcomes]
        return Step(not any(reasons), "\n".join(reasons), self.stacks(name))

    def _api(self, region: str) -> Any:
        return self.aws.clients(region).service("cloudformation")


def _delete_databases(rds: Any, ec2: Any) -> None:
    """Delete the servers that were kept, knowingly, and what they stood on."""
    for each in rds.describe_db_instances()["DBInstances"]:
        which = {"DBInstanceIdentifier": each["DBInstanceIdentifier"]}
        assert each["DeletionProtection"]
        rds.modify_db_instance(**which, DeletionProtection=False, ApplyImmediately=True)
        rds.delete_db_instance(**which, SkipFinalSnapshot=True)
        rds.delete_db_subnet_group(DBSubnetGroupName=each["DBSubnetGroup"]["DBSubnetGroupName"])
        for group in each["VpcSecurityGroups"]:
            ec2.delete_security_group(GroupId=group["VpcSecurityGroupId"])


def _delete_file_systems(fsx: Any) -> None:
    """Delete the file systems that were kept."""
    for each in fsx.describe_file_systems()["FileSystems"]:
        fsx.delete_file_system(FileSystemId=each["FileSystemId"])


def _delete_notebooks(sagemaker: Any) -> None:
    """Delete the notebook instances that were kept, which only stopped ones can be."""
    for each in sagemaker.list_notebook_instances()["NotebookInstances"]:
        which = {"NotebookInstanceName": each["NotebookInstanceName"]}
        sagemaker.stop_notebook_instance(**which)
        sagemaker.delete_notebook_instance(**which)
