"""Connections of nodes that their VPC blocks: packets are lost, and mounts time out.

When a node boots, the same graph is evaluated as by `slurmpod preflight`, only for what nodes need:
file systems, RDS servers, and the ports of Slurm, srun and SSH on other nodes. Packets are really
lost: the node's kernel sends them to an unused hardware address, as if AWS had dropped them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from embedded_aws.cluster import Cluster, ClusterNode
from embedded_aws.reachability.model import Graph, Interface
from embedded_aws.reachability.paths import EPHEMERAL, Verdict, reaches, reaches_any
from slurmpod.aws.gateway import DatabaseServer, Gateway, SharedFileSystem
from slurmpod.rehearsal.hyperpod.node_files import run_script
from slurmpod.rehearsal.nodes.machines import Machines

LUSTRE_PORT, NFS_PORT = 988, 2049
FROM_LUSTRE = (1018, 1023)
"""The source ports of Lustre (FSx for Lustre user guide, security groups)."""

SLURMCTLD_PORT, SLURMD_PORT, SLURMDBD_PORT = 6817, 6818, 6819
SSH_PORT = 22

_RULE = "priority 988"
_TABLE = 988
_NOBODY, _NOWHERE = "169.254.100.254", "02:00:00:00:de:ad"
_FROM_ITS_LIKE = f" sport {EPHEMERAL[0]}-{EPHEMERAL[1]}"
"""Replies of services come from lower ports."""

UNREACHED = "/run/machine/unreached"
"""The names of file systems whose mounts time out, one per line; the mount helpers read it."""

_BEGIN = f"""\
port=$(ip -oneline route show default | sed 's/.* dev \\([^ ]*\\).*/\\1/')
while ip rule delete {_RULE} 2>/dev/null; do :; done
ip route replace default via {_NOBODY} dev "$port" onlink table {_TABLE}
ip neighbour replace {_NOBODY} lladdr {_NOWHERE} dev "$port" nud permanent
"""


@dataclass(frozen=True)
class Server:
    """A server that nodes connect to; `name` is for matching scripts, `what` for messages."""

    what: str
    name: str
    interface: Interface
    port: int
    replies: tuple[int, int] = EPHEMERAL
    for_all: bool = True
    """Whether all nodes connect, or only controllers."""

    last_port: int = 0
    """The end of a range of ports that are lost together; 0 for a single one.

    srun uses any port above those of services. The node's kernel does not track connections, and
    would lose replies, too: both directions are lost, or none.
    """

    @property
    def ports(self) -> str:
        """The ports in the format of `ip rule`."""
        return f"{self.port}-{self.last_port}" if self.last_port else f"{self.port}"


@dataclass(frozen=True)
class Lost:
    """A blocked connection, with the reason; `is_needed` if every node needs it."""

    server: Server
    why: str
    is_needed: bool = False

    @property
    def message(self) -> str:
        """The sentence for users."""
        return f"it does not reach {self.server.what} at tcp {self.server.ports}: {self.why}"


@dataclass(frozen=True)
class VpcPaths:
    """The VPC of a cluster and the servers in it, at one point in time."""

    graph: Graph = field(default_factory=Graph)
    servers: tuple[Server, ...] = ()

    @classmethod
    def of(cls, gateway: Gateway, cluster: Cluster) -> VpcPaths:
        """Evaluate the VPC of a cluster that has nodes."""
        vpc_id = next(each.interface.vpc_id for each in cluster.nodes if each.interface)
        files, databases = gateway.shared_file_systems(), gateway.database_servers()
        wanted = [*(id_ for each in files for id_ in each.interfaces)]
        wanted += [each.interface_id for each in databases]
        groups = [id_ for each in cluster.groups for id_ in each.vpc_config.security_group_ids]
        graph = gateway.vpc_graph(vpc_id, wanted, groups)
        servers = (*_of_files(graph, files), *_of_databases(graph, databases))
        return cls(graph, servers)

    def lost(
        self, cluster: Cluster, controllers: Sequence[ClusterNode], node: ClusterNode
    ) -> tuple[Lost, ...]:
        """Return the blocked connections of a node."""
        source = _interface(cluster, node)
        if source is None:
            return ()
        servers = (each for each in self.servers if each.for_all or node in controllers)
        return tuple(
            Lost(server, verdict.why, is_needed=server.port == SLURMCTLD_PORT)
            for server in (*servers, *_of_nodes(cluster, controllers, node))
            if not (verdict := self._verdict(source, server)).reached
        )

    def _verdict(self, source: Interface, server: Server) -> Verdict:
        to = server.interface
        if server.last_port:
            ports = server.port, server.last_port
            back = reaches_any(self.graph, to, source, ports)
            return back if back.reached else reaches_any(self.graph, source, to, ports)
        return reaches(self.graph, source, to, server.port, replies=server.replies)


def _of_files(graph: Graph, files: Sequence[SharedFileSystem]) -> Iterator[Server]:
    for each in files:
        server = each.source.partition(":/")[0]
        name = server.removesuffix("@tcp")
        port, replies = (NFS_PORT, EPHEMERAL) if server == name else (LUSTRE_PORT, FROM_LUSTRE)
        for interface in _here(graph, each.interfaces):
            yield Server(each.file_system_id, name, interface, port, replies)


def _of_databases(graph: Graph, databases: Sequence[DatabaseServer]) -> Iterator[Server]:
    for each in databases:
        for interface in _here(graph, [each.interface_id]):
            yield Server(each.endpoint, each.endpoint, interface, each.port, for_all=False)


def _here(graph: Graph, interfaces: Sequence[str]) -> Iterator[Interface]:
    """Yield the interfaces that are in the VPC: others are not evaluated."""
    known = (graph.interfaces[each] for each in interfaces if each in graph.interfaces)
    return (each for each in known if each.subnet in graph.subnets)


def _interface(cluster: Cluster, node: ClusterNode) -> Interface | None:
    """Return a node's interface in the graph; None if its node is being removed."""
    if node.interface is None:
        return None
    groups = cluster.group(node.group).vpc_config.security_group_ids
    return Interface(node.private_ip, node.interface.subnet_id, tuple(groups))


def _of_nodes(
    cluster: Cluster, controllers: Sequence[ClusterNode], node: ClusterNode
) -> Iterator[Server]:
    for other in cluster.nodes:
        interface = _interface(cluster, other) if other is not node else None
        if interface is None:
            continue
        is_controller = other in controllers
        ports = (SLURMCTLD_PORT, SLURMDBD_PORT) if is_controller else (SLURMD_PORT,)
        for port in (*ports, SSH_PORT):
            yield Server(other.private_ip, other.private_ip, interface, port)
        srun, last = EPHEMERAL
        yield Server(other.private_ip, other.private_ip, interface, srun, last_port=last)


def lose(machines: Machines, hostname: str, lost: Sequence[Lost]) -> None:
    """Make a node lose these connections and no others; raises ClusterFailed."""
    rules = "".join(
        f"ip rule add {_RULE} to {each.server.interface.address} ipproto tcp"
        f"{_FROM_ITS_LIKE if each.server.last_port else ''}"
        f" dport {each.server.ports} lookup {_TABLE}\n"
        for each in lost
    )
    names = shlex.join(dict.fromkeys(each.server.name for each in lost))
    run_script(machines, hostname, f"{_BEGIN}{rules}printf '%s\\n' {names} >{UNREACHED}")


def messages(lost: Sequence[Lost]) -> tuple[str, ...]:
    """Return the messages for users, one for a server with several interfaces."""
    return tuple(dict.fromkeys(each.message for each in lost))


def named_in(files: Mapping[str, bytes], lost: Sequence[Lost]) -> Lost | None:
    """Return the first lost connection that scripts will wait for: they name its server."""
    for each in lost:
        name = each.server.name.encode()
        if each.is_needed or any(name in content for content in files.values()):
            return each
    return None
