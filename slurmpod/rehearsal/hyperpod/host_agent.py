"""HyperPod's agent on one node: fetches the lifecycle scripts, runs the entry script, reports.

The script runs as on HyperPod: as root, HOME unset, no terminal, no arguments, in the folder
/tmp/<bucket>/<prefix>; its output goes to CloudWatch Logs. Sources: docs/fidelity.md.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from botocore.exceptions import ClientError

from embedded_aws.cluster import ClusterFailed
from slurmpod.aws.gateway import Gateway
from slurmpod.rehearsal.hyperpod.node_files import put_tree, run_script
from slurmpod.rehearsal.hyperpod.provisioning import DownloadedBundle
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.state import Journal

SCRIPT_TIMEOUT_SECONDS = 3600
LOG_INTERVAL_SECONDS = 0.5
NO_LOGS = ("AccessDeniedException", "ResourceNotFoundException")
"""Errors of CloudWatch Logs if the role may not write, or could not create its stream."""

SCRIPT_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SAGEMAKER_RESOURCE_CONFIG_PATH": "/opt/ml/config/resource_config.json",
}


@dataclass(frozen=True)
class LogStream:
    """The destination of a node's output in CloudWatch Logs."""

    group: str
    name: str


@dataclass(frozen=True)
class ScriptResult:
    """The result of the entry script; `last_line` is what a user sees first."""

    exit_status: int
    last_line: str


@dataclass(frozen=True)
class HostAgent:
    """Runs the lifecycle scripts of one node."""

    machines: Machines
    gateway: Gateway
    hostname: str
    log_stream: LogStream
    output: Path
    journal: Journal
    failure_marker: str

    def run_lifecycle(self, bundle: DownloadedBundle) -> ScriptResult:
        """Copy the bundle to its folder on the node and run its entry script there."""
        with self._without_logs_if_refused():
            self.gateway.create_log_stream(self.log_stream.group, self.log_stream.name)
        self._log("[SageMaker] Downloading lifecycle scripts")
        put_tree(self.machines, self.hostname, bundle.folder, bundle.files)
        status = self._run_entry_script(bundle)
        if status == 0:
            self._log("[SageMaker] The lifecycle scripts succeeded.")
        elif self._has_power():  # an agent that died with its node reports nothing
            self._log(self.failure_marker.replace("{status}", str(status)))
        return ScriptResult(status, _last_line(self.output))

    def _run_entry_script(self, bundle: DownloadedBundle) -> int:
        finished = threading.Event()
        self.output.touch()
        earlier = self.output.stat().st_size  # scripts may have run on the previous software, too
        shipper = threading.Thread(target=self._ship_output, args=(earlier, finished), daemon=True)
        shipper.start()
        try:
            with self.output.open("ab") as output:
                result = self.machines.run(
                    self.hostname,
                    [f"./{bundle.entry_script}"],
                    cwd=bundle.folder,
                    environment=SCRIPT_ENVIRONMENT,
                    stdout=output,
                    timeout_seconds=SCRIPT_TIMEOUT_SECONDS,
                )
        finally:
            finished.set()
            shipper.join()
        return result.returncode

    def _has_power(self) -> bool:
        try:
            run_script(self.machines, self.hostname, "true")
        except (ClusterFailed, MachineFailed):
            return False
        return True

    def _ship_output(self, earlier: int, finished: threading.Event) -> None:
        """Send complete lines to CloudWatch Logs while the script runs, the rest at its end."""
        with self.output.open(encoding="utf-8", errors="replace") as output:
            output.seek(earlier)
            pending = ""
            while True:
                last_round = finished.wait(LOG_INTERVAL_SECONDS)
                pending += output.read()
                complete, _, pending = pending.rpartition("\n")
                self._log(*complete.split("\n"))
                if last_round:
                    self._log(pending)
                    return

    def _log(self, *lines: str) -> None:
        for line in filter(None, lines):
            self.journal.note(self.hostname, line)
        with self._without_logs_if_refused():
            self.gateway.write_log(self.log_stream.group, self.log_stream.name, lines)

    @contextlib.contextmanager
    def _without_logs_if_refused(self) -> Iterator[None]:
        """Suppress errors if the node's role may not write logs, and record them."""
        try:
            yield
        except ClientError as error:
            if error.response["Error"]["Code"] not in NO_LOGS:
                raise
            self.journal.note(self.hostname, f"not in CloudWatch Logs: {error}")


def _last_line(output: Path) -> str:
    lines = [line for line in output.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""
