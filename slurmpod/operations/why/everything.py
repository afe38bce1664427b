"""All problems of an environment, the most harmful first: a page to begin a day with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from slurmpod.aws.cluster import IN_SERVICE, ClusterState, Node
from slurmpod.environment.cluster import Role
from slurmpod.operations.why import node_lines
from slurmpod.operations.why.job_reasons import HELD, NEVER, reason_of
from slurmpod.operations.why.job_states import STATES
from slurmpod.operations.why.lost_capacity import (
    cause_of_ended_plan,
    groups_without_plan,
    lost_zones,
)
from slurmpod.operations.why.meanings import meaning_of
from slurmpod.operations.why.node_causes import causes_of_node
from slurmpod.operations.why.node_lines import JOBS, QUEUE, STATE
from slurmpod.operations.why.node_now import NodeNow
from slurmpod.operations.why.story import Cause
from slurmpod.operations.why.why import Witnesses
from slurmpod.problems import first_of
from slurmpod.resolve import Resolved
from slurmpod.slurm.fields import value_of
from slurmpod.slurm.hostlist import expanded, folded

ASKED_THEMSELVES = 32
"""The most nodes to query themselves; in larger clusters only those with trouble in Slurm."""

AT_ONCE = 8
NAMES_SHOWN = 5
BAD_ENDS = ("FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "BOOT_FAIL", "DEADLINE")

CLUSTER, LOST, ILL, WAITING, FAILED = range(5)
"""Ranks: the whole cluster, nodes without jobs, nodes that take jobs, jobs that wait or failed."""


@dataclass(frozen=True)
class Trouble:
    """A problem, with its extent: GPUs or nodes, or jobs."""

    rank: int
    weight: int
    what: str
    says: str
    fix: str


@dataclass(frozen=True)
class Everything:
    """All problems, the worst first; `unread` has silent sources, `asked` the number of answers."""

    name: str
    troubles: tuple[Trouble, ...]
    asked: int
    nodes: int
    unread: Mapping[str, str]


@dataclass(frozen=True)
class Examination:
    """Queries all sources of one cluster."""

    witnesses: Witnesses

    def examine(self) -> Everything:
        """Return the problems; raises AwsUnavailable if the cluster cannot be listed."""
        witnesses = self.witnesses
        cluster, nodes = witnesses.listed()
        try:
            command = node_lines.controller_on_all(witnesses.hours)
            slurm = witnesses.controller(cluster, nodes, command)
        except BaseException:
            witnesses.sessions.end()
            raise
        seen = self._seen(nodes, slurm)
        asked = _worth_asking(seen)
        answers = self._all_asked(cluster, asked, slurm)
        seen = [answers.get(node.name, node) for node in seen]
        found = [
            *_of_slurm(slurm),
            *_of_cluster(cluster, nodes),
            *_of_capacity(cluster, nodes, witnesses.resolved),
            *_of_nodes(seen),
            *_of_jobs(slurm, witnesses.hours),
        ]
        troubles = sorted(found, key=lambda each: (each.rank, -each.weight))
        named = (
            replace(each, fix=witnesses.named(Cause(each.says, each.fix)).fix) for each in troubles
        )
        return Everything(
            witnesses.resolved.name, tuple(named), len(asked), len(nodes), witnesses.unread
        )

    def _seen(self, nodes: Sequence[Node], slurm: Mapping[str, str]) -> list[NodeNow]:
        lines = {value_of(line, "NodeName"): line for line in _lines(slurm, STATE)}
        is_told = any(lines)
        jobs = _jobs_by_node(slurm)
        return [
            self.witnesses.node_now(
                node.name,
                node,
                {
                    **slurm,
                    STATE: lines.get(node.name, f"Node {node.name} not found" if is_told else ""),
                    JOBS: "\n".join(jobs.get(node.name, ())),
                },
                {},
            )
            for node in nodes
        ]

    def _all_asked(
        self, cluster: ClusterState, nodes: Sequence[NodeNow], slurm: Mapping[str, str]
    ) -> dict[str, NodeNow]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            work = [pool.submit(self._asked, cluster, node, slurm) for node in nodes]
            try:
                return dict(each.result() for each in work)
            except BaseException:
                self.witnesses.sessions.end()
                raise

    def _asked(
        self, cluster: ClusterState, node: NodeNow, slurm: Mapping[str, str]
    ) -> tuple[str, NodeNow]:
        assert node.live is not None  # noqa: S101  # SageMaker has listed it
        answers = self.witnesses.itself(cluster, node.live, self.witnesses.question(slurm))
        seen = self.witnesses.node_now(node.name, node.live, {STATE: node.line}, answers)
        return node.name, replace(node, own=seen.own)


def _worth_asking(seen: Sequence[NodeNow]) -> list[NodeNow]:
    running = [node for node in seen if node.live and node.live.status == IN_SERVICE]
    if len(running) <= ASKED_THEMSELVES:
        return running
    ill = [node for node in running if node.role is Role.CONTROLLER or causes_of_node(node)]
    return ill[:ASKED_THEMSELVES]


def _of_slurm(slurm: Mapping[str, str]) -> Iterator[Trouble]:
    said = next((line for line in _lines(slurm, STATE) if not line.startswith("NodeName=")), "")
    if said:
        meant = meaning_of(said)
        says, fix = (meant.says, meant.fix) if meant else (said, "slurmpod logs ENV --kind slurm")
        yield Trouble(CLUSTER, 1, "Slurm", says, fix)


def _of_cluster(cluster: ClusterState, nodes: Sequence[Node]) -> Iterator[Trouble]:
    if cluster.failure or cluster.status not in ("InService", "Updating"):
        says = f"SageMaker says {cluster.status}{': ' if cluster.failure else ''}{cluster.failure}"
        yield Trouble(CLUSTER, 0, "the cluster", says, "see its nodes: slurmpod status ENV")
    for group in cluster.groups:
        there = sum(node.group == group.name for node in nodes)
        missing = group.wanted - there
        if missing > 0:
            says = f"SageMaker has {there} of the {group.wanted} nodes that it is to have"
            yield Trouble(LOST, missing, group.name, says, "see why: slurmpod status ENV --watch")


def _of_capacity(
    cluster: ClusterState, nodes: Sequence[Node], resolved: Resolved
) -> Iterator[Trouble]:
    """Yield losses that concern many nodes."""
    ended = groups_without_plan(cluster)
    for group in ended:
        lost = sum(node.group == group and node.status != IN_SERVICE for node in nodes)
        cause = cause_of_ended_plan(group)
        yield Trouble(LOST, lost, group, cause.says, cause.fix)
    for zone in lost_zones(resolved, nodes, ended):
        yield Trouble(LOST, zone.nodes, f"zone {zone.zone}", zone.cause.says, zone.cause.fix)


def _of_nodes(seen: Sequence[NodeNow]) -> Iterator[Trouble]:
    """Yield causes; one that several nodes share, once."""
    alike: dict[tuple[int, str, str], list[NodeNow]] = {}
    for node in seen:
        for place, cause in enumerate(causes_of_node(node)):
            is_lost = node.is_out or bool(node.live and node.live.status != IN_SERVICE)
            rank = CLUSTER if node.role is Role.CONTROLLER else LOST if is_lost else ILL
            rank = rank if place == 0 else ILL
            alike.setdefault((rank, cause.says, cause.fix), []).append(node)
    for (rank, says, fix), nodes in alike.items():
        names = [node.name for node in nodes]
        what = folded(names) if len(names) <= NAMES_SHOWN else f"{len(names)} nodes"
        weight = sum(max(node.gpus, 1) for node in nodes)
        live = nodes[0].live
        first = fix.replace("NODE", names[0]).replace("GROUP", live.group if live else "GROUP")
        yield Trouble(rank, weight, what, says, first)


def _of_jobs(slurm: Mapping[str, str], hours: int) -> Iterator[Trouble]:
    yield from _waiting(_lines(slurm, QUEUE))
    ends: dict[str, list[tuple[str, str]]] = {}
    for row in node_lines.job_rows(slurm):
        state = row["state"].split(" ")[0]
        if state in BAD_ENDS:
            has_begun = "None" not in row["nodelist"]
            how = f"exit {row['exitcode']}" if has_begun else "before it began"
            shown = f"FAILED {how}" if state == "FAILED" else state
            meant = meaning_of(shown, STATES)
            ends.setdefault(meant.pattern if meant else shown, []).append((row["jobid"], shown))
    for found in ends.values():
        yield _of_ids(
            FAILED, [id_ for id_, _ in found], _ended({shown for _, shown in found}, hours)
        )


def _ended(shown: Collection[str], hours: int) -> str:
    states = ", ".join(sorted(shown))
    meant = meaning_of(states, STATES) if len(shown) == 1 else None
    says = f"{meant.says} ({states})" if meant else f"they ended so: {states}"
    return f"within {hours} hours: {says}"


def _waiting(lines: Iterable[str]) -> Iterator[Trouble]:
    """Yield jobs that will wait forever, by reason."""
    found: dict[str, list[str]] = {}
    for line in lines:
        id_, _, reason = line.partition("|")
        meant = reason_of(reason)
        if (meant and (meant.waiting == NEVER or "launch failed" in reason)) or (
            meant and meant.waiting == HELD and not reason.startswith("JobHeld")
        ):
            found.setdefault(reason, []).append(id_)
    for reason, ids in found.items():
        yield _of_ids(WAITING, ids, f"waiting does not help: {reason}")


def _of_ids(rank: int, ids: Sequence[str], says: str) -> Trouble:
    jobs = "job" if len(ids) == 1 else f"{len(ids)} jobs:"
    what = f"{jobs} {first_of(list(ids), NAMES_SHOWN)}"
    return Trouble(rank, len(ids), what, says, f"see why: slurmpod why ENV {ids[-1]}")


def _jobs_by_node(slurm: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in _lines(slurm, JOBS):
        row, _, nodes = line.rpartition("|")
        for name in [] if "None" in nodes else expanded(nodes):
            found.setdefault(name, []).append(row)
    return found


def _lines(slurm: Mapping[str, str], name: str) -> list[str]:
    return [line for line in slurm.get(name, "").splitlines() if line.strip()]
