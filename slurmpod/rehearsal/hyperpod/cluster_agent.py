"""HyperPod's agent on the controller: owns slurm.conf and writes it late, while scripts run."""

from __future__ import annotations

from collections.abc import Collection

from embedded_aws.cluster import Cluster, ClusterFailed, ClusterNode
from slurmpod.environment.catalog import instance_types
from slurmpod.platform_profiles.profile import Controllers, Rewriting, SlurmConf
from slurmpod.rehearsal.hyperpod.node_files import put_file, read_file, run_script
from slurmpod.rehearsal.hyperpod.provisioning import Provisioning
from slurmpod.rehearsal.hyperpod.slurm_conf import (
    GRES_CONF,
    MANAGED,
    OVERWRITE,
    SLURM_CONF,
    TOPOLOGY_CONF,
    Controller,
    SlurmLayout,
    SlurmNode,
    partition_drift,
    partition_members,
    rewritten,
    slurm_files,
)
from slurmpod.rehearsal.nodes.machines import Machines

CORES_OF_ONE_SOCKET = 48
"""With more cores there are two sockets, as seen on ml.p5.48xlarge; EC2 does not report it."""

_CHANGING = (GRES_CONF, TOPOLOGY_CONF, SLURM_CONF)
"""The files that name nodes, if they exist."""

_RECONFIGURE = """\
for attempt in 1 2; do
    scontrol reconfigure 2>/dev/null && exit
    sleep 2
done
scontrol reconfigure
"""
"""A controller that has just started, or takes over, may not answer in time."""


def write_slurm_files(
    machines: Machines,
    cluster: Cluster,
    provisioning: Provisioning,
    conf: SlurmConf,
    controller: ClusterNode,
    *,
    with_nodes: bool = True,
) -> None:
    """Write Slurm's whole configuration on one controller, slurm.conf last."""
    layout = slurm_layout(cluster, provisioning, conf)
    for path, content in slurm_files(layout, conf, with_nodes=with_nodes).items():
        put_file(machines, hostname(controller), path, content)


def rewrite_slurm_configuration(
    machines: Machines,
    cluster: Cluster,
    provisioning: Provisioning,
    conf: SlurmConf,
    *,
    unlisted: Collection[ClusterNode] = (),
) -> None:
    """Rewrite slurm.conf by the cluster's strategy; if it has changed, reconfigure Slurm.

    A controller that is off is skipped: its replacement gets current files. `unlisted` are nodes
    that it does not name yet. Raises ClusterFailed if Slurm rejects the file.
    """
    files = slurm_files(slurm_layout(cluster, provisioning, conf, unlisted), conf)
    controllers = [hostname(each) for each in controllers_of(cluster, provisioning)]
    running = [name for name in controllers if not machines.is_off(name)]
    overwrites = conf.rewriting is Rewriting.OVERWRITE
    strategy = OVERWRITE if overwrites else cluster.settings.strategy
    is_news = False
    for name in running if conf.rewritten_on is Controllers.ALL else running[:1]:
        for path in filter(files.__contains__, _CHANGING):
            current = read_file(machines, name, path).decode()
            whole = OVERWRITE if path == TOPOLOGY_CONF else strategy
            text = rewritten(current, files[path].decode(), whole)
            if text != current:
                put_file(machines, name, path, text.encode())
                is_news = True
    if is_news:
        run_script(machines, running[0], _RECONFIGURE)


def check_drift(
    machines: Machines, cluster: Cluster, provisioning: Provisioning, conf: SlurmConf
) -> None:
    """Raise ClusterFailed if others changed slurm.conf and the strategy is Managed."""
    if cluster.settings.strategy != MANAGED:
        return
    (controller, *_) = controllers_of(cluster, provisioning)
    current = read_file(machines, hostname(controller), SLURM_CONF).decode()
    drift = partition_drift(current, partition_members(slurm_layout(cluster, provisioning, conf)))
    if drift:
        raise ClusterFailed(f"Partition configuration drift detected. In slurm.conf {drift}.")


def controllers_of(cluster: Cluster, provisioning: Provisioning) -> list[ClusterNode]:
    """Return the nodes of the controller group, the primary one first."""
    return cluster.members(provisioning.controller_group)


def hostname(node: ClusterNode) -> str:
    """Return the node's name, which is also its name in Slurm: `ip-a-b-c-d`."""
    return f"ip-{node.private_ip.replace('.', '-')}"


def accelerator_devices(instance_type: str) -> tuple[str, int]:
    """Return the device name prefix and the number of an instance type's accelerators."""
    facts = instance_types()[instance_type]
    return "neuron" if facts.accelerator_kind == "neuron" else "nvidia", facts.accelerator_count


def gpu_count(instance_type: str) -> int:
    """Return the number of GPUs of an instance type: Slurm counts only GPUs as GRES."""
    facts = instance_types()[instance_type]
    return facts.accelerator_count if facts.accelerator_kind == "gpu" else 0


def slurm_layout(
    cluster: Cluster,
    provisioning: Provisioning,
    conf: SlurmConf,
    unlisted: Collection[ClusterNode] = (),
) -> SlurmLayout:
    """Return the contents of a slurm.conf that names all nodes except `unlisted`."""
    controllers = controllers_of(cluster, provisioning)
    return SlurmLayout(
        cluster_name=cluster.name,
        controllers=tuple(Controller(hostname(node), node.private_ip) for node in controllers),
        nodes=tuple(
            _slurm_node(cluster, node, provisioning)
            for node in list(cluster.nodes)
            if node not in controllers
            and node not in unlisted
            and (conf.login_nodes or node.group != provisioning.login_group)
        ),
        partitions=tuple(dict.fromkeys(provisioning.partitions.values())),
        without_on_create=cluster.group(provisioning.controller_group).configures_itself,
    )


def _slurm_node(cluster: Cluster, node: ClusterNode, provisioning: Provisioning) -> SlurmNode:
    group = cluster.group(node.group)
    facts = instance_types()[node.instance_type]
    sockets = 1 if facts.cores <= CORES_OF_ONE_SOCKET else 2
    return SlurmNode(
        name=hostname(node),
        address=node.private_ip,
        sockets=sockets,
        cores_per_socket=facts.cores // sockets,
        threads_per_core=group.threads_per_core or facts.default_threads_per_core,
        memory_mib=facts.memory_mib,
        gpus=gpu_count(node.instance_type),
        partition=provisioning.partitions.get(node.group),
    )
