"""An embedded account in which the real CDK CLI and the real `slurmpod` work."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import boto3
import pytest

from embedded_aws.isolation import isolated_environment, process_environment
from embedded_aws.server import EmbeddedAws
from slurmpod.cli.main import run
from slurmpod.folders import node_executable
from slurmpod.operations.deploy.cdk import CDK
from slurmpod.rehearsal.bootstrap import bootstrap
from tests.cloud.assemblies import deploy
from tests.golden_files import ROOT

ACCOUNT, REGION = "123456789012", "us-west-2"


class Account:
    """An embedded account, and the commands that work in it.

    The CDK CLI deploys what lies in `assembly`, unless a command names another app; ours keep what
    they need in `home`.
    """

    def __init__(
        self, aws: EmbeddedAws, assembly: Path | None = None, *, home: Path | None = None
    ) -> None:
        ours = {"SLURMPOD_HOME": str(home)} if home else {}
        self.variables = {**isolated_environment(os.environ, aws.environment()), **ours}
        self._aws = aws
        self._assembly = str(assembly)

    def client(self, service: str) -> Any:
        session = boto3.session.Session(region_name=REGION)
        return session.client(service, endpoint_url=self._aws.endpoint)  # type: ignore[call-overload]

    def bootstrap(self) -> None:
        """Make what `cdk bootstrap` makes; test_examples.py has the command itself."""
        bootstrap(self.client("cloudformation"))

    def stacks(self) -> set[str]:
        stacks = self.client("cloudformation").describe_stacks()["Stacks"]
        return {stack["StackName"] for stack in stacks}

    def synthesize(self, environment: str) -> None:
        """Synthesize an environment into the assembly: most of the time of a command goes there."""
        context = ("--context", f"env={environment}")
        self.cdk("synth", "--quiet", *context, "--output", self._assembly)

    def deploy(self, assembly: str) -> None:
        """Deploy the stacks of an assembly; test_embedded_aws.py has the CDK CLI do it."""
        outcomes = deploy(self._aws.clients, Path(assembly))
        assert {each.reasons for each in outcomes.values()} <= {""}, outcomes

    def cdk(self, *arguments: str) -> None:
        result = self.run_cdk(*arguments)
        assert result.returncode == 0, result.stdout

    def slurmpod(
        self, *arguments: str, cwd: Path = ROOT, answer: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of ours, from anywhere; `answer` is what its user types.

        This process runs it: to start one for each takes longer than most commands.
        """
        printed, said = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            process_environment(self.variables),
            redirect_stdout(printed),
            redirect_stderr(said),
        ):
            patch.chdir(cwd)
            patch.setattr(sys, "stdin", io.StringIO(answer))
            code = run(arguments)
        return subprocess.CompletedProcess(arguments, code, printed.getvalue(), said.getvalue())

    def run_cdk(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        named = {"--app", "--context", "-c"} & set(arguments)
        app = () if named else ("--app", self._assembly)
        command = [str(node_executable()), str(ROOT / CDK), *arguments, *app]
        search_path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            command,
            cwd=ROOT,
            env={**self.variables, "PATH": search_path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
