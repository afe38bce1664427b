"""HyperPod: turns cluster descriptions into running machines, and maintains them.

`creation` has the steps of a creation, node by node; `update` those of an update.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from embedded_aws.cluster import (
    DEEP_HEALTH_CHECK,
    AccountingDatabase,
    Cluster,
    ClusterFailed,
    ClusterNode,
    InstanceGroup,
    NetworkInterface,
    SoftwareUpdate,
    new_node,
)
from embedded_aws.sagemaker.events import database_changes
from slurmpod.aws.gateway import Gateway
from slurmpod.platform_profiles.profile import Profile
from slurmpod.rehearsal.hyperpod.accounting import (
    DatabaseAccess,
    DatabaseServers,
    credentials,
    move_accounting,
    start_database,
    stop_machine,
    storage_of,
)
from slurmpod.rehearsal.hyperpod.capacity import Capacity, Shortage
from slurmpod.rehearsal.hyperpod.cluster_agent import hostname
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.hyperpod.creation import ContinuousProvisioning, Creation
from slurmpod.rehearsal.hyperpod.health_agent import HealthAgent
from slurmpod.rehearsal.hyperpod.instance_metadata import Instance
from slurmpod.rehearsal.hyperpod.networks import Network, Networks
from slurmpod.rehearsal.hyperpod.node_roles import AssumeRole
from slurmpod.rehearsal.hyperpod.provisioning import (
    Provisioning,
    SharedDatabase,
    download_bundles,
    provisioning_of,
)
from slurmpod.rehearsal.hyperpod.software import Software
from slurmpod.rehearsal.hyperpod.update import SoftwareRollout, Update
from slurmpod.rehearsal.journal_entries import LOGS_FOLDER
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.state import Journal

_POLL_SECONDS = 0.2


@dataclass
class _Running:
    """A cluster's run, its nodes that are still to boot, and its database if it is external.

    `health` watches the existing nodes.
    """

    run: ClusterRun
    continuous: ContinuousProvisioning
    health: HealthAgent
    database: AccountingDatabase | None = None
    database_interface: NetworkInterface | None = None


class HyperPod:
    """The platform of one rehearsal; machines, logs and file systems are in `folder`.

    `networks` has a network for the machines of each VPC. `assume_role` returns sessions of
    nodes' roles; `gateway` is HyperPod's own. `profile` describes HyperPod's part of nodes, and
    `newest` that of software updates and of clusters created after one. `database` is a user's
    server that runs whether or not the cluster names it: lifecycle scripts may name it. With
    `keeps_failed`, a cluster whose creation failed cannot be deleted either: its nodes stay
    unchanged for inspection.
    """

    def __init__(
        self,
        *,
        networks: Networks,
        gateway: Gateway,
        journal: Journal,
        folder: Path,
        assume_role: AssumeRole,
        profile: Profile,
        newest: Software | None = None,
        database: SharedDatabase | None = None,
        keeps_failed: bool = False,
    ) -> None:
        self._networks = networks
        self._gateway = gateway
        self._journal = journal
        self._folder = folder
        self._assume_role = assume_role
        self._profile = profile
        self._software = Software(profile)
        self._newest = newest
        self._database = database
        self._keeps_failed = keeps_failed
        self._running: dict[str, _Running] = {}
        self._databases = DatabaseServers(networks, gateway, journal)

    def create(self, cluster: Cluster) -> None:
        """Bring the cluster into service; raises ClusterFailed if it fails."""
        bundles = download_bundles(self._assume_role, cluster.groups)
        provisioning = provisioning_of(cluster.groups, bundles)
        cluster.controller_group = provisioning.controller_group
        _check_controllers(cluster, provisioning)
        for group in cluster.groups:
            cluster.nodes += [new_node(cluster, group) for _ in range(group.instance_count)]
        self._journal.note(cluster.name, f"{len(cluster.nodes)} instances have addresses")
        network = self._network_for(cluster)
        self._offer_file_systems()
        self._follow_databases()
        within = "" if network is self._networks.first else cluster.name
        run = ClusterRun(
            cluster=cluster,
            software=self._software,
            newest=self._newest,
            provisioning=provisioning,
            bundles=bundles,
            machines=network.machines,
            assume_role=self._assume_role,
            journal=self._journal.within(within),
            output_folder=self._folder / LOGS_FOLDER / within,
            capacity=Capacity(Shortage(self._folder)),
        )
        database = cluster.settings.accounting_database
        running = _Running(run, ContinuousProvisioning(run), HealthAgent(run), database)
        self._running[cluster.arn] = running
        self._start_database(running)
        run.look_at_network(self._gateway)
        Creation(run, running.continuous, keeps_failed=self._keeps_failed).run()
        running.health.start()

    def update(self, cluster: Cluster, desired: tuple[InstanceGroup, ...]) -> None:
        """Change groups and nodes; raises ClusterFailed after a rollback if one fails."""
        running = self._running[cluster.arn]
        bundles = download_bundles(self._assume_role, desired)
        provisioning = provisioning_of(desired, bundles)
        self._offer_file_systems()
        self._follow_databases()
        running.run.look_at_network(self._gateway)
        Update(running.run, desired, bundles, provisioning).run(running.continuous)
        self._take_up_database(running)

    def delete(self, cluster: Cluster) -> None:
        """Remove all machines of the cluster with their volumes.

        Raises ClusterFailed, with the reason for its failure, for a cluster that is to be kept.
        """
        if self._keeps_failed and self._has_failed(cluster):
            raise ClusterFailed(cluster.failure_message)
        running = self._running.pop(cluster.arn, None)
        if running is not None:
            self._end(running)
        for node in list(cluster.nodes):
            if node.interface:
                cluster.network.delete_interface(node.interface.interface_id)
        cluster.nodes.clear()
        self._networks.leave(cluster.name)
        self._journal.note(cluster.name, "deleted")

    def ends_plan(self, arn: str) -> bool:
        """Return whether a fault ends a training plan early."""
        return Shortage(self._folder).ends_plan(arn)

    def health_agent_of(self, machines: Machines, name: str) -> HealthAgent | None:
        """Return the agent that watches the node with this host name, if there is such a node.

        `machines` are those of its network.
        """
        for running in self._running_on(machines):
            if any(hostname(node) == name for node in list(running.run.cluster.nodes)):
                return running.health
        return None

    def instance_at(self, machines: Machines, address: str, *, region: str) -> Instance | None:
        """Return the instance that has an address now, as its metadata describes it.

        `machines` are those of its network.
        """
        for running in self._running_on(machines):
            run = running.run
            for node in list(run.cluster.nodes):
                if node.private_ip == address and node.interface:
                    role_arn = run.cluster.group(node.group).execution_role_arn
                    has_tags = self._profile.image.metadata_has_tags
                    tags = dict(run.cluster.tags) if has_tags else {}
                    return Instance(node, role_arn, run.role(node), region, tags)
        return None

    def replace(self, cluster: Cluster, node: ClusterNode) -> None:
        """Replace a node's instance; raises ClusterFailed if the new one does not come up."""
        self._offer_file_systems()
        run = self._run_of(cluster)
        run.look_at_network(self._gateway)
        run.replace(node)

    def reboot(self, cluster: Cluster, node: ClusterNode) -> None:
        """Shut a node down and start it again; raises ClusterFailed if it does not come up."""
        self._run_of(cluster).reboot(node)

    def check_health(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Wait until the health monitoring agent has checked the nodes that await a check."""
        run = self._run_of(cluster)
        while any(node.status == DEEP_HEALTH_CHECK and run.is_wanted(node) for node in nodes):
            if run.given_up.wait(_POLL_SECONDS):
                return

    def remove(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Remove nodes, and update Slurm; raises ClusterFailed if Slurm rejects the change."""
        run = self._run_of(cluster)
        for node in nodes:
            run.remove(node)
        run.tell_slurm()

    def update_software(self, cluster: Cluster, update: SoftwareUpdate) -> None:
        """Update the software of nodes; raises ClusterFailed after a rollback."""
        self._offer_file_systems()
        run = self._run_of(cluster)
        run.look_at_network(self._gateway)
        self._software = self._newest or self._software
        SoftwareRollout(run, update).run()

    def _running_on(self, machines: Machines) -> list[_Running]:
        return [each for each in list(self._running.values()) if each.run.machines is machines]

    def _network_for(self, cluster: Cluster) -> Network:
        """Return the network for a cluster's nodes, which are all in one VPC."""
        vpc_id = next(node.interface.vpc_id for node in cluster.nodes if node.interface)
        try:
            return self._networks.take(vpc_id, cluster.name)
        except (MachineFailed, OSError) as error:
            raise ClusterFailed(f"the rehearsal has no network for {vpc_id}: {error}") from error

    def _run_of(self, cluster: Cluster) -> ClusterRun:
        """Return a cluster's run; raises ClusterFailed if it is being deleted."""
        running = self._running.get(cluster.arn)
        if running is None:
            raise ClusterFailed(f"Cluster {cluster.name} is being deleted.")
        return running.run

    def _has_failed(self, cluster: Cluster) -> bool:
        running = self._running.get(cluster.arn)
        return running is not None and running.run.given_up.is_set()

    def _end(self, running: _Running) -> None:
        run = running.run
        run.given_up.set()
        for node in list(run.cluster.nodes):
            run.power_off(node)
        running.continuous.end()
        running.health.end()
        for node in list(run.cluster.nodes):
            run.remove(node)
        if running.database_interface is not None:
            stop_machine(run.machines, _database_hostname(run.cluster))
            run.cluster.network.delete_interface(running.database_interface.interface_id)

    def _offer_file_systems(self) -> None:
        for file_system in self._gateway.shared_file_systems():
            content = self._folder / "file_systems" / file_system.file_system_id
            content.mkdir(parents=True, exist_ok=True)
            self._networks.add_file_system(file_system.source, content)

    def _follow_databases(self) -> None:
        try:
            self._databases.follow()
        except MachineFailed as error:
            raise _no_database(error) from error

    def _take_up_database(self, running: _Running) -> None:
        """Let slurmdbd use the database that an update names; raises ClusterFailed.

        Success and failure are both events. The rehearsal's platform cannot roll back.
        """
        run, database = running.run, running.run.cluster.settings.accounting_database
        if database == running.database:
            return
        with _recorded_if_it_fails(run, "NotApplicable"):
            storages = {
                hostname(node): storage_of(run.role(node).gateway, database)
                for node in run.controllers
            }
        with _recorded_if_it_fails(run, "RevertFailed"):
            for name, storage in storages.items():
                move_accounting(run.machines, name, storage)
        running.database = database
        run.record(database_changes(run.cluster))
        run.journal.note(run.cluster.name, "slurmdbd uses the external database")

    def _start_database(self, running: _Running) -> None:
        """Boot the machine of a user's own database, if there is one."""
        cluster = running.run.cluster
        access = self._database_access(running.run)
        if access is None or self._databases.serve(access.endpoint):
            return
        group = cluster.group(running.run.provisioning.controller_group)
        interface = cluster.network.create_interface(group)
        running.database_interface, name = interface, _database_hostname(cluster)
        try:
            address = f"{interface.private_ip}/{interface.subnet_cidr.partition('/')[2]}"
            start_database(running.run.machines, name, address=address, access=access)
        except MachineFailed as error:
            raise _no_database(error) from error
        self._journal.note(name, f"serves {access.endpoint}")

    def _database_access(self, run: ClusterRun) -> DatabaseAccess | None:
        ours = run.cluster.settings.accounting_database
        shared = run.provisioning.database or self._database
        if ours is not None:
            user, password = credentials(self._gateway, ours.secret_arn)
            return DatabaseAccess(ours.endpoint, ours.port, user, password)
        if shared is not None:
            _, password = credentials(self._gateway, shared.secret_arn)
            return DatabaseAccess(shared.endpoint, shared.port, shared.user, password)
        return None


def _check_controllers(cluster: Cluster, provisioning: Provisioning) -> None:
    group = cluster.group(provisioning.controller_group)
    if group.instance_count == 0:
        raise ClusterFailed(f"The controller group {group.name} has no instance.")
    if group.instance_count > 1 and group.configures_itself:
        raise ClusterFailed(
            f"Group {group.name} has {group.instance_count} controllers, which share files and a "
            "database: only OnCreate scripts can set that up."
        )


@contextlib.contextmanager
def _recorded_if_it_fails(run: ClusterRun, rollback: str) -> Iterator[None]:
    """Record a failed change of the database as an event, with its rollback status."""
    try:
        yield
    except ClusterFailed as failure:
        run.record(database_changes(run.cluster, str(failure), rollback))
        raise


def _no_database(error: MachineFailed) -> ClusterFailed:
    return ClusterFailed(f"the rehearsal's database did not start: {error}")


def _database_hostname(cluster: Cluster) -> str:
    return f"database-{cluster.id}"
