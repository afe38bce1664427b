"""One creation of a cluster: a thread per node, ordered as observed on real clusters.

Every instance boots; the controller's scripts start; slurm.conf appears while they run; then the
other nodes' scripts start. One node whose scripts fail makes the whole creation fail.
"""

from __future__ import annotations

import secrets
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.platform import ClusterFailed
from slurmpod.rehearsal.nodes.spec import File, MachineSpec
from slurmpod.rehearsal.platform.bundles import SCRIPTS_FAILED
from slurmpod.rehearsal.platform.cluster_agent import (
    accelerator_devices,
    controller_of,
    hostname,
    write_slurm_configuration,
)
from slurmpod.rehearsal.platform.host_agent import HostAgent, LogStream
from slurmpod.rehearsal.platform.node_files import (
    PROVISIONING_PARAMETERS,
    RESOURCE_CONFIG,
    resource_config,
)
from slurmpod.rehearsal.platform.power import cut_power
from slurmpod.rehearsal.platform.provisioning import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from slurmpod.aws.gateway import Gateway
    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode
    from slurmpod.rehearsal.journal import Journal
    from slurmpod.rehearsal.nodes.machines import Machines
    from slurmpod.rehearsal.platform.bundles import DownloadedBundle
    from slurmpod.rehearsal.platform.provisioning import Provisioning

CREATION_STARTS = "creation starts"
IN_SERVICE = "in service"
SLURM_CONF_DELAY_SECONDS = 0.5
"""How long after the start of the controller's scripts slurm.conf appears; minutes on HyperPod."""


@dataclass
class Creation:
    """What one creation works with; `output_folder` keeps what each node's scripts print."""

    cluster: Cluster
    provisioning: Provisioning
    bundles: Mapping[str, DownloadedBundle]
    machines: Machines
    gateway: Gateway
    journal: Journal
    output_folder: Path
    _munge_key: bytes = field(default_factory=lambda: secrets.token_bytes(128))
    _controller_runs: threading.Event = field(default_factory=threading.Event)
    _slurm_configured: threading.Event = field(default_factory=threading.Event)
    _given_up: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Bring every node up; raises ClusterFailed with the first node that failed, and why."""
        self.journal.note(self.cluster.name, CREATION_STARTS)
        self.output_folder.mkdir(exist_ok=True)
        controller = controller_of(self.cluster, self.provisioning)
        others = [node for node in self.cluster.nodes if node is not controller]
        with ThreadPoolExecutor(max_workers=len(self.cluster.nodes) + 1) as pool:
            futures = [
                pool.submit(self._bring_up_controller, controller),
                pool.submit(self._configure_slurm),
                *(pool.submit(self._bring_up, node) for node in others),
            ]
            wait(futures, return_when=FIRST_EXCEPTION)
            failures = [
                error for future in futures if future.done() and (error := future.exception())
            ]
            if failures:
                self._give_up()
        if failures:
            raise _first_cause(failures)
        self.journal.note(self.cluster.name, IN_SERVICE)

    def _bring_up_controller(self, node: ClusterNode) -> None:
        self._boot(node)
        self._controller_runs.set()
        self._run_lifecycle(node)

    def _configure_slurm(self) -> None:
        self._controller_runs.wait()
        time.sleep(SLURM_CONF_DELAY_SECONDS)
        if self._given_up.is_set():
            return
        write_slurm_configuration(self.machines, self.cluster, self.provisioning)
        self.journal.note(self.cluster.name, "slurm.conf written")
        self._slurm_configured.set()

    def _bring_up(self, node: ClusterNode) -> None:
        self._boot(node)
        self._slurm_configured.wait()
        if not self._given_up.is_set():
            self._run_lifecycle(node)

    def _boot(self, node: ClusterNode) -> None:
        kind, count = accelerator_devices(node.instance_type)
        bundle = self.bundles[node.group]
        self.machines.boot(
            MachineSpec(
                hostname=hostname(node),
                address=IPv4Address(node.private_ip),
                files={
                    RESOURCE_CONFIG: File(resource_config(self.cluster)),
                    PROVISIONING_PARAMETERS: File(bundle.files[FILE_NAME]),
                    "/etc/munge/munge.key": File(self._munge_key, mode=0o400, owner="munge"),
                },
                accelerator_kind=kind,
                accelerators=count,
            )
        )
        self.journal.note(hostname(node), "booted")

    def _run_lifecycle(self, node: ClusterNode) -> None:
        log_group = f"/aws/sagemaker/Clusters/{self.cluster.name}/{self.cluster.id}"
        agent = HostAgent(
            machines=self.machines,
            gateway=self.gateway,
            hostname=hostname(node),
            log_stream=LogStream(log_group, f"LifecycleConfig/{node.group}/{node.instance_id}"),
            output=self.output_folder / f"{hostname(node)}.log",
            journal=self.journal,
        )
        self.journal.note(hostname(node), "lifecycle scripts start")
        result = agent.run_lifecycle(self.bundles[node.group])
        if result.exit_status == 0:
            node.status = "Running"
            self.journal.note(hostname(node), "lifecycle scripts succeeded")
            return
        if self._given_up.is_set():
            return
        node.status = "Failure"
        node.message = f"{SCRIPTS_FAILED} Last line: {result.last_line}"
        self.journal.note(hostname(node), "lifecycle scripts failed")
        raise ClusterFailed(
            f"Instance {node.instance_id} of group {node.group} ({hostname(node)}): {node.message}"
        )

    def _give_up(self) -> None:
        """End the other nodes' scripts by taking their machines away, and let all threads end."""
        self._given_up.set()
        self._controller_runs.set()
        self._slurm_configured.set()
        cut_power(self.machines, self.cluster.nodes)


def _first_cause(failures: Sequence[BaseException]) -> ClusterFailed:
    """Return what the person who deploys is told: scripts that failed before all else."""
    for failure in failures:
        if isinstance(failure, ClusterFailed):
            return failure
    return ClusterFailed(f"the rehearsal's platform failed: {failures[0]}")
