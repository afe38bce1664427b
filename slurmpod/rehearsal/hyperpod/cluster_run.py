"""One existing cluster: HyperPod's data about it, and HyperPod's operations on its nodes."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from embedded_aws.cluster import (
    DEEP_HEALTH_CHECK,
    RUNNING,
    Cluster,
    ClusterEvent,
    ClusterFailed,
    ClusterNode,
    new_instance_id,
)
from embedded_aws.sagemaker.events import (
    creation_ends,
    record,
    termination_begins,
)
from slurmpod.aws.gateway import Gateway
from slurmpod.platform_profiles.profile import Profile
from slurmpod.rehearsal.hyperpod.accounting import start_accounting, storage_of
from slurmpod.rehearsal.hyperpod.capacity import Capacity, no_capacity
from slurmpod.rehearsal.hyperpod.cluster_agent import (
    controllers_of,
    hostname,
    rewrite_slurm_configuration,
    write_slurm_files,
)
from slurmpod.rehearsal.hyperpod.first_minutes import begin
from slurmpod.rehearsal.hyperpod.host_agent import HostAgent, LogStream
from slurmpod.rehearsal.hyperpod.image_disk import environment_file
from slurmpod.rehearsal.hyperpod.machine_spec import machine_spec
from slurmpod.rehearsal.hyperpod.network_losses import NetworkLosses
from slurmpod.rehearsal.hyperpod.node_files import (
    RESOURCE_CONFIG,
    mount_file_systems,
    put_file,
    resource_config,
    start_sackd,
    start_slurmctld,
    start_slurmd,
)
from slurmpod.rehearsal.hyperpod.node_roles import AssumeRole, NodeRole
from slurmpod.rehearsal.hyperpod.nodes_at_work import NodesAtWork
from slurmpod.rehearsal.hyperpod.operation_kinds import (
    REBOOT,
    REPLACEMENT,
    SOFTWARE_UPDATE,
    Operation,
)
from slurmpod.rehearsal.hyperpod.provisioning import (
    SCRIPTS_FAILED,
    DownloadedBundle,
    Provisioning,
    download_bundles,
)
from slurmpod.rehearsal.hyperpod.software import Software
from slurmpod.rehearsal.hyperpod.vpc_paths import named_in
from slurmpod.rehearsal.journal_entries import LIFECYCLE_FAILED
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.nodes.spec import MachineSpec
from slurmpod.rehearsal.state import Journal

CAPACITY_POLL_SECONDS = 0.2


@dataclass
class ClusterRun:
    """A cluster with all inputs of its nodes; `output_folder` keeps the output of scripts.

    `software` is HyperPod's software on nodes, and `newest` that of `renewed_groups`.
    `assume_role` returns sessions of the groups' roles. `capacity` has the instances.
    `given_up` is set when the cluster fails or is deleted: from then on nothing new starts.
    """

    cluster: Cluster
    software: Software
    provisioning: Provisioning
    bundles: Mapping[str, DownloadedBundle]
    machines: Machines
    assume_role: AssumeRole
    journal: Journal
    output_folder: Path
    capacity: Capacity
    given_up: threading.Event = field(default_factory=threading.Event)
    at_work: NodesAtWork = field(default_factory=NodesAtWork)
    newest: Software | None = None
    renewed_groups: set[str] = field(default_factory=set)
    munge_key: bytes = field(default_factory=lambda: secrets.token_bytes(128))
    _losses: NetworkLosses = field(init=False)
    _one_writer: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Create the record of these machines' lost connections."""
        self._losses = NetworkLosses(self.machines, self.journal)

    @property
    def profile(self) -> Profile:
        """The profile of the primary controller's software, whose agents write Slurm's files."""
        return self.software_of(self.controllers[0]).profile

    def software_of(self, node: ClusterNode) -> Software:
        """Return the software of a node at its first boot."""
        return self.newest if self.newest and node.group in self.renewed_groups else self.software

    @property
    def controllers(self) -> list[ClusterNode]:
        """The controller nodes, the primary one first."""
        return controllers_of(self.cluster, self.provisioning)

    def configures_itself(self, node: ClusterNode) -> bool:
        """Return whether HyperPod sets up a node, including Slurm, before any script."""
        return self.cluster.group(node.group).configures_itself

    def is_wanted(self, node: ClusterNode) -> bool:
        """Return whether a node is still to boot, or to stay."""
        return not (self.given_up.is_set() or self.machines.is_closed or node.is_leaving)

    def boot(self, node: ClusterNode) -> None:
        """Boot a node's machine with HyperPod's files.

        Raises MachineFailed if it does not boot or the node is no longer wanted, and
        ClusterFailed if there is no instance for it.
        """
        self._get_instance(node)
        software = self.software_of(node)
        self.machines.boot(self._machine_spec(node), software.image)
        self._check_wanted(node)
        begin(self.machines, hostname(node), software.profile.image)
        self._lose(node)
        self.journal.note(hostname(node), "booted")

    def configure(self, node: ClusterNode) -> None:
        """Run the image's own configuration, if it has one; slurm.conf must exist.

        Raises ClusterFailed with the node and the failure.
        """
        try:
            if self.configures_itself(node):
                set_up(self, node)
            elif self.profile.lifecycle.mounts_with_on_create:
                mounts = self.cluster.group(node.group).mounts or self.provisioning.mounts
                mount_file_systems(self.machines, hostname(node), mounts)
        except ClusterFailed as failure:
            said = f"The image's own configuration failed: {failure}"
            raise self.failed(node, self._losses.explained(node, said)) from None
        if self.configures_itself(node):
            self.journal.note(hostname(node), "configured by HyperPod")

    def run_scripts(self, node: ClusterNode) -> None:
        """Run the lifecycle script of a node's group, if it has one.

        Afterwards the node is running, or due for a check by the health monitoring agent.

        Raises ClusterFailed with the node and the last line of the script's output.
        """
        if node.group in self.bundles:
            self._run_lifecycle(node)
        if self.is_wanted(node):
            checks = self.cluster.group(node.group).deep_health_checks
            node.status, node.message = (DEEP_HEALTH_CHECK if checks else RUNNING), ""

    def bring_up(self, node: ClusterNode) -> None:
        """Boot and set up a node of a cluster whose Slurm already runs."""
        self.boot(node)
        if node in self.controllers:
            conf = self.profile.slurm_conf
            write_slurm_files(self.machines, self.cluster, self.provisioning, conf, node)
        self.configure(node)
        self.run_scripts(node)

    def replace(self, node: ClusterNode) -> None:
        """Replace a node's instance: same name and address, new disk.

        Returns when its scripts have run. Raises ClusterFailed if it did not come up, which leaves
        it in status Failure, or if another operation on the node is in progress.
        """
        with operation(self, node, "Pending"):
            self.power_off(node)
            self.capacity.give_back(node)
            node.instance_id, node.launched_at = new_instance_id(), datetime.now(UTC)
            self.journal.note(hostname(node), f"{node.instance_id} replaces it")
            with recorded(self, node, REPLACEMENT):
                if self.profile.lifecycle.fetched_for_replacements:
                    self._fetch_scripts(node)
                self.tell_controllers()
                self.bring_up(node)

    def reboot(self, node: ClusterNode) -> None:
        """Shut a node down and boot it from its disk: enabled services start, no script runs.

        Raises ClusterFailed as `replace` does.
        """
        with operation(self, node, "Pending"), recorded(self, node, REBOOT):
            self.machines.reboot(hostname(node))
            self._check_wanted(node)
            self._lose(node)
            if node in self.controllers:
                self.tell_controllers()  # the list may have changed while it was off
            node.status = RUNNING

    def renew(self, node: ClusterNode) -> None:
        """Recreate a node's root volume with new software; then its scripts run.

        Raises ClusterFailed as `replace` does.
        """
        with operation(self, node, "SystemUpdating"), recorded(self, node, SOFTWARE_UPDATE):
            self.power_off(node)
            self._fetch_scripts(node)
            self.bring_up(node)
            node.renew(self.cluster.group(node.group).image_id)

    def write_slurm_configuration(self, *, with_nodes: bool = True) -> None:
        """Write slurm.conf on every controller, at first perhaps without nodes and partitions."""
        provisioning, conf = self.provisioning, self.profile.slurm_conf
        for controller in self.controllers:
            write_slurm_files(
                self.machines, self.cluster, provisioning, conf, controller, with_nodes=with_nodes
            )

    def tell_controllers(self) -> None:
        """Write the instance list on running controllers; copies on other nodes become outdated."""
        with self._one_writer:  # also for the list: an older one must not be written last
            instances = resource_config(self.cluster, self.controllers)
            for name in map(hostname, self.controllers):
                if not self.machines.is_off(name):
                    put_file(self.machines, name, RESOURCE_CONFIG, instances)

    def tell_slurm(self, unlisted: Collection[ClusterNode] = ()) -> None:
        """Rewrite the instance list and slurm.conf on the controllers, and reconfigure Slurm.

        `unlisted` are nodes that it does not name yet. Raises ClusterFailed if Slurm rejects it.
        """
        self.tell_controllers()
        with self._one_writer:
            rewrite_slurm_configuration(
                self.machines,
                self.cluster,
                self.provisioning,
                self.profile.slurm_conf,
                unlisted=unlisted,
            )

    def wait_before_late_nodes(self) -> None:
        """Wait until nodes whose scripts have ended may appear in slurm.conf."""
        self.given_up.wait(self.profile.timing.late_nodes_milliseconds / 1000)

    def power_off(self, node: ClusterNode) -> None:
        """End a node's machine, whether it runs, boots, or never started; its disk is lost."""
        with contextlib.suppress(MachineFailed):
            self.machines.power_cut(hostname(node))

    def remove(self, node: ClusterNode) -> None:
        """Remove a node with its machine, address and entry; any operation on it fails."""
        if node not in self.cluster.nodes:
            return
        node.is_leaving, node.status = True, "ShuttingDown"
        self.record(termination_begins(self.cluster, node))
        with self.at_work.after_all(node, lambda: self.power_off(node)):
            if node not in self.cluster.nodes:  # another thread has removed it meanwhile
                return
            self.power_off(node)
            self.capacity.give_back(node)
            self.cluster.nodes.remove(node)
            if node.interface:
                self.cluster.network.delete_interface(node.interface.interface_id)
                node.interface = None

    def role(self, node: ClusterNode) -> NodeRole:
        """Return a session of the node's execution role."""
        return self.assume_role(self.cluster.group(node.group).execution_role_arn)

    def record(self, event: ClusterEvent) -> None:
        """Add an event to the cluster's, if it keeps any, and to the journal."""
        record(self.cluster, event)
        self.journal.note(self.cluster.name, event.description)

    def failed(self, node: ClusterNode, message: str) -> ClusterFailed:
        """Set a node's status to Failure, and return the exception to raise."""
        if self.is_wanted(node):
            node.status, node.message = "Failure", message
        return ClusterFailed(
            f"Instance {node.instance_id} of group {node.group} ({hostname(node)}): {message}"
        )

    def _machine_spec(self, node: ClusterNode) -> MachineSpec:
        return machine_spec(
            node,
            self.software_of(node).profile,
            instances=resource_config(self.cluster, self.controllers),
            variables=self.role(node).variables,
            munge_key=self.munge_key,
            provisioning=self.provisioning.file,
        )

    def _get_instance(self, node: ClusterNode) -> None:
        """Take an instance for a node; with continuous provisioning, wait until there is one.

        Raises ClusterFailed without an instance, or if the wait for the minimum number of nodes of
        its group is over.
        """
        if self._takes_instance(node):
            return
        node.message = no_capacity(node.instance_type)
        if not self.cluster.settings.is_continuous:
            raise self.failed(node, node.message)
        self.record(creation_ends(self.cluster, node, node.message))
        while not self._takes_instance(node):
            if self.capacity.hours_are_over(node.group) and self._lacks_nodes(node.group):
                raise self.failed(node, node.message)
            self.given_up.wait(CAPACITY_POLL_SECONDS)
            self._check_wanted(node)
        node.message = ""

    def _takes_instance(self, node: ClusterNode) -> bool:
        return not self.cluster.lacks_plan(node.group) and self.capacity.take(node)

    def _lacks_nodes(self, group: str) -> bool:
        running = sum(node.is_up for node in self.cluster.members(group))
        return running < self.cluster.group(group).min_instance_count

    def _fetch_scripts(self, node: ClusterNode) -> None:
        """Fetch a group's current scripts from S3; raises ClusterFailed."""
        fetched = download_bundles(self.assume_role, [self.cluster.group(node.group)])
        with self._one_writer:
            self.bundles = {**self.bundles, **fetched}

    def _check_wanted(self, node: ClusterNode) -> None:
        if not self.is_wanted(node):
            self.power_off(node)
            raise MachineFailed(f"{hostname(node)} is no longer wanted")

    def look_at_network(self, gateway: Gateway) -> None:
        """Evaluate the VPC's paths now; running nodes lose exactly what it blocks."""
        self._losses.look(gateway, self.cluster)
        for node in self.cluster.nodes:
            if not self.machines.is_off(hostname(node)):
                self._lose(node)

    def _lose(self, node: ClusterNode) -> None:
        self._losses.lose(self.cluster, self.controllers, node)

    def _run_lifecycle(self, node: ClusterNode) -> None:
        if waited_for := named_in(self.bundles[node.group].files, self._losses.of(node)):
            why = f"{SCRIPTS_FAILED} They would wait until they time out: {waited_for.message}."
            raise self.failed(node, why)
        agent = HostAgent(
            machines=self.machines,
            gateway=self.role(node).gateway,
            hostname=hostname(node),
            log_stream=LogStream(
                log_group(self.cluster), f"LifecycleConfig/{node.group}/{node.instance_id}"
            ),
            output=self.output_folder / f"{hostname(node)}-{node.instance_id}.log",
            journal=self.journal,
            failure_marker=self.profile.lifecycle.failure_marker,
        )
        self.journal.note(hostname(node), "lifecycle scripts start")
        result = agent.run_lifecycle(self.bundles[node.group])
        if result.exit_status and self.is_wanted(node):
            self.journal.note(hostname(node), LIFECYCLE_FAILED)
            said = f"{SCRIPTS_FAILED} Last line: {result.last_line}"
            raise self.failed(node, self._losses.explained(node, said))
        if not result.exit_status:
            self.journal.note(hostname(node), "lifecycle scripts succeeded")


@contextlib.contextmanager
def operation(run: ClusterRun, node: ClusterNode, status: str) -> Iterator[None]:
    """Set a node's status to `status` during an operation, which excludes all others.

    A failure sets the node's status to Failure and raises ClusterFailed.
    """
    with run.at_work.alone(node):
        if not run.is_wanted(node):
            raise ClusterFailed(f"{hostname(node)} is no longer wanted.")
        node.status, node.message = status, ""
        try:
            yield
        except Exception as failure:
            raise run.failed(node, node.message or str(failure)) from failure


@contextlib.contextmanager
def recorded(run: ClusterRun, node: ClusterNode, kind: Operation) -> Iterator[None]:
    """Record the start and the end of an operation as cluster events."""
    run.record(kind.begins(run.cluster, node))
    try:
        yield
    except Exception as failure:
        if run.is_wanted(node):
            run.record(kind.ends(run.cluster, node, node.message or str(failure)))
        raise
    run.record(kind.ends(run.cluster, node, None))


def set_up(run: ClusterRun, node: ClusterNode) -> None:
    """Mount file systems and start Slurm, as the image does by itself; raises ClusterFailed."""
    name, primary = hostname(node), run.controllers[0]
    mount_file_systems(run.machines, name, run.cluster.group(node.group).mounts)
    if node in run.controllers:
        storage = storage_of(run.role(node).gateway, run.cluster.settings.accounting_database)
        start_accounting(run.machines, name, node.private_ip, storage)
        start_slurmctld(run.machines, name)
    elif node.group == run.provisioning.login_group and not run.profile.slurm_conf.login_nodes:
        start_sackd(run.machines, name, primary.private_ip)  # slurmd would refuse to start
    else:
        units = run.software_of(node).profile.image.units
        start_slurmd(run.machines, name, primary.private_ip, environment_file(units["slurmd"]))


def log_group(cluster: Cluster) -> str:
    """Return the name of the log group that HyperPod creates for a cluster."""
    return f"/aws/sagemaker/Clusters/{cluster.name}/{cluster.id}"


def write_cluster_log(run: ClusterRun, node: ClusterNode, stream: str, line: str) -> None:
    """Append a line with the permissions of the node's role, which may not allow logs.

    Without permission, the operation on the node still succeeds.
    """
    group, gateway = log_group(run.cluster), run.role(node).gateway
    try:
        gateway.create_log_stream(group, stream)
        gateway.write_log(group, stream, (line,))
    except (BotoCoreError, ClientError) as error:
        run.journal.note(hostname(node), f"not in CloudWatch Logs: {error}")
