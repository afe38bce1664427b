"""The CDK's command line at work on an environment's stacks: its progress and outcome."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.stack import Stack
from slurmpod.operations.deploy.cdk import Cdk, CdkFailed, CdkRun
from slurmpod.operations.deploy.cdk_command import cdk_command
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.operations.progress import Progress
from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved

POLL_SECONDS = 3
"""Seconds between two CloudFormation requests, within its rate limits."""

IN_PROGRESS = "_IN_PROGRESS"


class StacksFailed(WorkFailed):
    """Stacks could not be synthesized, deployed or destroyed."""


@dataclass
class StackWork:
    """Commands of the CDK for an environment, one after the other, with their progress."""

    file: Path
    resolved: Resolved
    folder: Path
    live: LiveEnvironment
    nodes: ClusterView
    progress: Progress
    _shown: dict[str, str] = field(default_factory=dict)
    _asked: float = 0.0

    @classmethod
    def of(cls, file: Path, resolved: Resolved, folder: Path, clients: AwsClients) -> Self:
        """Return the work in one account, with progress on standard error."""
        live = LiveEnvironment(clients, resolved)
        return cls(file, resolved, folder, live, ClusterView(clients), Progress())

    @property
    def cdk(self) -> Cdk:
        """The command line, with the credentials of this shell."""
        return Cdk(self.folder / "cdk.out", self.folder, dict(os.environ))

    def deploy(self, only: str, confirmed: str) -> None:
        """Deploy all stacks or one alone, and show progress; raises StacksFailed.

        `confirmed` allows a protected environment to lose something.
        """
        cdk = self.cdk
        with cdk.deploy(self.file, only=only, confirmed=confirmed) as run:
            self._wait("templates synthesized", run, cdk.is_synthesized)
            self._say_note(run)
            self._wait("stacks deployed", run)

    def run(self, title: str, run: CdkRun) -> None:
        """Wait for a command and show its progress; raises StacksFailed."""
        with run:
            self._wait(title, run)
            self._say_note(run)

    def _say_note(self, run: CdkRun) -> None:
        if run.note:
            self.progress.note(f"  {run.note}")

    def settle(self) -> None:
        """Wait until CloudFormation has finished the work of an earlier command."""
        if not self.in_progress():
            return
        with self.progress.stage("ended what was begun before"):
            while names := self.in_progress():
                self.progress.now(", ".join(names))
                time.sleep(POLL_SECONDS)

    def in_progress(self) -> list[str]:
        """Return the stacks that CloudFormation is changing; raises AwsUnavailable."""
        return [each.name for each in self._stacks() if each.status.endswith(IN_PROGRESS)]

    def _wait(self, title: str, run: CdkRun, until: Callable[[], bool] = lambda: False) -> None:
        try:
            with self.progress.stage(title):
                self._shown = self._statuses()
                try:
                    run.wait(self._watch_now_and_then, until)
                finally:
                    self._watch()
        except CdkFailed as error:
            raise StacksFailed(self._failure(str(error))) from error

    def _watch_now_and_then(self) -> None:
        if time.monotonic() - self._asked >= POLL_SECONDS:
            self._watch()
            self._asked = time.monotonic()

    def _watch(self) -> None:
        with suppress(AwsUnavailable):  # progress is optional
            self._show(self._statuses())

    def _show(self, statuses: Mapping[str, str]) -> None:
        for name in {**self._shown, **statuses}:
            status = statuses.get(name, "DELETE_COMPLETE")
            if status != self._shown.get(name):
                self.progress.note(f"  {name}: {status}")
            if status.endswith(IN_PROGRESS):
                self.progress.now(f"{name}{self._nodes_of(name)}")
        self._shown = dict(statuses)

    def _nodes_of(self, stack: str) -> str:
        """Return the number of running nodes in each group, while their stack is changing."""
        if stack != self.resolved.stacks.cluster:
            return ""
        found = self.nodes.nodes(self.resolved.name)
        groups = dict.fromkeys(node.group for node in found)
        counts = []
        for group in groups:
            statuses = [node.status for node in found if node.group == group]
            counts.append(f"{group} {statuses.count('Running')} of {len(statuses)}")
        return f": running nodes: {', '.join(counts)}" if counts else ""

    def _statuses(self) -> dict[str, str]:
        return {each.name: each.status for each in self._stacks()}

    def _stacks(self) -> tuple[Stack, ...]:
        return self.live.stacks()

    def _failure(self, said: str) -> str:
        """Return why stacks failed, or the CDK's last output, and where the full output is."""
        reasons = []
        with suppress(AwsUnavailable):
            failed = [each for each in self._stacks() if each.failure and each.name in said]
            reasons = [f"{each.name}: {each.failure}" for each in failed]
        fixes = [f"  fix: {fix}" for sign, fix in self._fixes().items() if sign in said]
        return "\n".join([*(reasons or [said]), *fixes, f"full output of the CDK: {self.folder}"])

    def _fixes(self) -> dict[str, str]:
        """Return fixes by parts of the CDK's output."""
        return {
            "cdk bootstrap": cdk_command("bootstrap", self.file),
            "TerminationProtection": (
                "deploy the file with 'protected: false' first: "
                f"slurmpod deploy {shlex.quote(str(self.file))}"
            ),
        }
