"""HyperPod: turns a cluster's description into running machines, controller first.

What one creation does, node by node, is in `creation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.instances import new_node
from slurmpod.rehearsal.platform.bundles import download_bundles
from slurmpod.rehearsal.platform.creation import Creation
from slurmpod.rehearsal.platform.power import cut_power
from slurmpod.rehearsal.platform.provisioning import read_provisioning

if TYPE_CHECKING:
    from pathlib import Path

    from slurmpod.aws.gateway import Gateway
    from slurmpod.rehearsal.cloud.platform import Cluster
    from slurmpod.rehearsal.journal import Journal
    from slurmpod.rehearsal.nodes.machines import Machines


class HyperPod:
    """The platform of one rehearsal; machines, logs and file systems live in `folder`."""

    def __init__(
        self,
        *,
        machines: Machines,
        gateway: Gateway,
        journal: Journal,
        folder: Path,
    ) -> None:
        self._machines = machines
        self._gateway = gateway
        self._journal = journal
        self._folder = folder

    def create(self, cluster: Cluster) -> None:
        """Boot every node and run its lifecycle scripts; raises ClusterFailed if one fails."""
        bundles = download_bundles(self._gateway, cluster)
        names = [group.name for group in cluster.groups]
        provisioning = read_provisioning(bundles[names[0]].files, names)
        self._offer_file_systems()
        for group in cluster.groups:
            cluster.nodes += [new_node(cluster, group) for _ in range(group.instance_count)]
        self._journal.note(cluster.name, f"{len(cluster.nodes)} instances have addresses")
        Creation(
            cluster=cluster,
            provisioning=provisioning,
            bundles=bundles,
            machines=self._machines,
            gateway=self._gateway,
            journal=self._journal,
            output_folder=self._folder / "lifecycle",
        ).run()

    def delete(self, cluster: Cluster) -> None:
        """Take every machine of the cluster away; its volumes go with it."""
        cut_power(self._machines, cluster.nodes)
        for node in cluster.nodes:
            if node.interface:
                cluster.network.delete_interface(node.interface.interface_id)
        cluster.nodes.clear()
        self._journal.note(cluster.name, "deleted")

    def _offer_file_systems(self) -> None:
        for file_system in self._gateway.lustre_file_systems():
            content = self._folder / "file_systems" / file_system.file_system_id
            content.mkdir(parents=True, exist_ok=True)
            self._machines.add_file_system(file_system.source, content)
