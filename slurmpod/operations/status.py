"""The state of a deployed environment, from AWS and Slurm.

A part that cannot be read is an `Unavailable`; the other parts are still shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.cluster import ClusterState, ClusterView, Node
from slurmpod.aws.cluster_operations import ClusterOperations
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.inventory import AccountInventory, StackRecord
from slurmpod.aws.stack import Stack
from slurmpod.aws.watch import Alarm, Spent, Throughput, Watch
from slurmpod.operations.attempt import Unavailable, read, read_from
from slurmpod.operations.cluster_health import ClusterHealth, health_of
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.operations.gpu_use import GpuUse, gpu_use
from slurmpod.operations.node_states import NodeRow, node_rows
from slurmpod.operations.panel_pictures import Queries
from slurmpod.operations.questions import ask_controller
from slurmpod.operations.slurm_overview import Fill, Overview, read_view, view_command
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import has_gpus
from slurmpod.resolve.storage import MAIN_LUSTRE

ALARM, BUDGET = "AWS::CloudWatch::Alarm", "AWS::Budgets::Budget"


@dataclass(frozen=True)
class FileSystem:
    """A shared file system: its mount path, id, used space and throughput."""

    path: str
    id: str
    fill: Fill | Unavailable
    throughput: Throughput | Unavailable


@dataclass(frozen=True)
class Status:
    """Everything on the status screen; `at` is the time of the queries.

    `gpu_use` is by the id of the job that holds the GPUs; None without GPUs.
    """

    name: str
    account: str
    region: str
    at: datetime
    cluster: ClusterState | Unavailable
    health: ClusterHealth
    nodes: tuple[NodeRow, ...] | Unavailable
    slurm: Overview | Unavailable
    gpu_use: Mapping[str, GpuUse] | Unavailable | None
    file_systems: tuple[FileSystem, ...]
    stacks: tuple[Stack, ...] | Unavailable
    alarms: tuple[Alarm, ...] | Unavailable
    money: Spent | Unavailable


@dataclass(frozen=True)
class Sources:
    """The clients to query; failures become an `Unavailable`.

    `metrics` returns the Prometheus at an address.
    """

    clients: AwsClients
    watch: Watch
    sessions: NodeSessions
    metrics: Callable[[str], Queries]


def status_of(sources: Sources, resolved: Resolved, now: datetime) -> Status:
    """Query everything; the session on the controller runs in parallel with AWS requests."""
    roles = {group.name: group.role for group in resolved.groups}
    view = ClusterView(sources.clients)
    cluster = read(lambda: view.cluster(resolved.name))
    nodes = read(lambda: view.nodes(resolved.name))
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(_slurm, sources.sessions, resolved, cluster, nodes)
        try:
            health = health_of(
                ClusterOperations(sources.clients, resolved.name),
                has_extension=bool(resolved.monitoring and resolved.monitoring.observability),
            )
            stacks = read(LiveEnvironment(sources.clients, resolved).stacks)
            made = _Made(AccountInventory(sources.clients), stacks)
            file_systems = _ids(resolved, stacks)
            rates = read(lambda: sources.watch.throughput(_known(file_systems), now))
            alarms = read(lambda: _alarms(sources.watch, made, resolved))
            money = read(lambda: _money(sources.watch, made, resolved))
            use = _gpu_use(sources, resolved, stacks, now)
            slurm = read_from(work)
        except BaseException:
            sources.sessions.end()
            raise
    return Status(
        name=resolved.name,
        account=resolved.account,
        region=resolved.region,
        at=now,
        cluster=cluster,
        health=health,
        nodes=nodes if isinstance(nodes, Unavailable) else node_rows(nodes, slurm, roles),
        slurm=slurm,
        gpu_use=use,
        file_systems=tuple(_file_systems(file_systems, slurm, rates)),
        stacks=stacks,
        alarms=alarms,
        money=money,
    )


def _slurm(
    sessions: NodeSessions,
    resolved: Resolved,
    cluster: ClusterState | Unavailable,
    nodes: tuple[Node, ...] | Unavailable,
) -> Overview:
    if isinstance(cluster, Unavailable) or isinstance(nodes, Unavailable):
        raise AwsUnavailable("the cluster could not be read")
    folders = [each.settings.mount_path for each in (*resolved.lustre, resolved.openzfs) if each]
    command = view_command(
        folders, checks=resolved.environment.checks is not None, gpus=has_gpus(resolved)
    )
    return read_view(ask_controller(sessions, resolved, cluster.id, nodes, command))


def _gpu_use(
    sources: Sources, resolved: Resolved, stacks: tuple[Stack, ...] | Unavailable, now: datetime
) -> Mapping[str, GpuUse] | Unavailable | None:
    if not has_gpus(resolved):
        return None
    if not (resolved.monitoring and resolved.monitoring.prometheus):
        return Unavailable("`monitoring.prometheus` is needed to measure it")
    if isinstance(stacks, Unavailable):
        return stacks
    outputs = [each.outputs for each in stacks if each.name == resolved.stacks.monitoring]
    if not (url := outputs[0].get("PrometheusEndpoint") if outputs else None):
        stack = resolved.stacks.monitoring
        return Unavailable(f"the stack {stack} has no Prometheus workspace yet")
    return read(lambda: gpu_use(sources.metrics(url), now))


@dataclass(frozen=True)
class _Made:
    """The resources of deployed stacks."""

    inventory: AccountInventory
    stacks: tuple[Stack, ...] | Unavailable

    def of(self, name: str | None, kind: str) -> list[str]:
        """Return the ids of a stack's resources of one type; raises AwsUnavailable."""
        if isinstance(self.stacks, Unavailable):
            raise AwsUnavailable("the stacks could not be read")
        if name is None or name not in {stack.name for stack in self.stacks}:
            return []
        found = self.inventory.resources(StackRecord(name, name, ""))
        return [each.physical_id for each in found if each.type == kind and each.physical_id]


def _alarms(watch: Watch, made: _Made, resolved: Resolved) -> tuple[Alarm, ...]:
    if not resolved.monitoring:
        raise AwsUnavailable("the environment has no `monitoring`, which creates alarms")
    stacks = (resolved.stacks.monitoring, resolved.stacks.cluster_watch)
    return watch.alarms([name for stack in stacks for name in made.of(stack, ALARM)])


def _money(watch: Watch, made: _Made, resolved: Resolved) -> Spent:
    ids = made.of(resolved.stacks.monitoring, BUDGET)
    if not ids:
        raise AwsUnavailable("the environment has no `budget`, which tracks its cost")
    return watch.spent(resolved.account, ids[0])


def _ids(resolved: Resolved, stacks: tuple[Stack, ...] | Unavailable) -> dict[str, str]:
    """Return the ids of file systems by mount path; empty if a stack does not report it."""
    outputs: dict[str, str] = {}
    for stack in () if isinstance(stacks, Unavailable) else stacks:
        outputs |= stack.outputs if stack.name == resolved.stacks.storage else {}
    found = {}
    for lustre in resolved.lustre:
        which = "" if lustre.name == MAIN_LUSTRE else lustre.name.title()
        existing = lustre.settings.existing
        id_ = existing.id if existing else outputs.get(f"FileSystemId{which}", "")
        found[lustre.settings.mount_path] = id_
    if openzfs := resolved.openzfs:
        own = openzfs.settings.existing
        found[openzfs.settings.mount_path] = own.id if own else outputs.get("OpenZfsId", "")
    return found


def _known(ids: Mapping[str, str]) -> list[str]:
    return [id_ for id_ in ids.values() if id_]


def _file_systems(
    ids: Mapping[str, str],
    slurm: Overview | Unavailable,
    rates: Mapping[str, Throughput] | Unavailable,
) -> Iterator[FileSystem]:
    fills = {} if isinstance(slurm, Unavailable) else {fill.path: fill for fill in slurm.fills}
    unread = Unavailable("the controller does not report it")
    unasked = slurm if isinstance(slurm, Unavailable) else unread
    unrated = rates if isinstance(rates, Unavailable) else Unavailable("CloudWatch has no data")
    known = {} if isinstance(rates, Unavailable) else rates
    for path, id_ in ids.items():
        yield FileSystem(path, id_, fills.get(path, unasked), known.get(id_, unrated))
