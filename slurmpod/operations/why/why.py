"""Queries all sources about a node or job, and combines the answers into one story."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from slurmpod.aws.cluster import IN_SERVICE, ClusterState, ClusterView, Node
from slurmpod.aws.cluster_logs import ClusterLogs, log_group_of
from slurmpod.aws.cluster_operations import ClusterOperations
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.lifecycle import read_report
from slurmpod.operations.questions import ask_controller, ask_node
from slurmpod.operations.why import node_lines
from slurmpod.operations.why.cluster_moments import (
    CHECK_UNDER_WAY,
    moments_of_accounting,
    moments_of_checks,
)
from slurmpod.operations.why.job_causes import causes_of_job, causes_of_late_nodes
from slurmpod.operations.why.job_facts import JobNow, is_within, job_of, moments_of_job, span_of
from slurmpod.operations.why.lost_capacity import (
    causes_of_job_without_nodes,
    causes_of_node_without_plan,
    groups_without_plan,
)
from slurmpod.operations.why.meanings import Meaning, meaning_of
from slurmpod.operations.why.node_causes import causes_of_node
from slurmpod.operations.why.node_lines import STATE
from slurmpod.operations.why.node_now import NodeNow, read_node_now, shown_state
from slurmpod.operations.why.story import (
    Cause,
    Moment,
    Story,
    beginning_of,
    most_probable,
    told,
)
from slurmpod.operations.why.watched import moments_of_watcher, with_watcher
from slurmpod.resolve import Resolved
from slurmpod.slurm.fields import value_of
from slurmpod.slurm.hostlist import expanded

JOB = re.compile(r"\d+(_\d+)?")
NODE = re.compile(r"[A-Za-z][A-Za-z0-9.-]*")
MOST_EVENTS = 50
LIFECYCLE, HEALTH = "LifecycleConfig", "SagemakerHealthMonitoringAgent"
NOBODY = "no source reports a cause"
GONE = "there is no such node now"


@dataclass
class Witnesses:
    """The sources of one cluster; `unread` collects those that do not answer, and why."""

    view: ClusterView
    logs: ClusterLogs
    sessions: NodeSessions
    resolved: Resolved
    file: str
    now: datetime
    hours: int
    unread: dict[str, str] = field(default_factory=dict)

    def why(self, subject: str) -> Story:
        """Return the history of a node, by Slurm name or instance id, or of a job.

        Raises:
            AwsUnavailable: the cluster or its nodes cannot be listed.
        """
        cluster, nodes = self.listed()
        tell = self._of_job if JOB.fullmatch(subject) else self._of_node
        try:
            return tell(subject, cluster, nodes)
        except BaseException:
            self.sessions.end()
            raise

    def listed(self) -> tuple[ClusterState, tuple[Node, ...]]:
        """Return the cluster and its nodes; raises AwsUnavailable."""
        return self.view.cluster(self.resolved.name), self.view.nodes(self.resolved.name)

    def _of_node(self, subject: str, cluster: ClusterState, nodes: tuple[Node, ...]) -> Story:
        node = next((each for each in nodes if subject in (each.name, each.instance_id)), None)
        name = node.name if node else subject
        command = node_lines.controller_on_node(name, self.hours)
        slurm = self.controller(cluster, nodes, command)
        moments = [
            *node_lines.moments_of_logs(slurm),
            *node_lines.moments_of_node_records(slurm),
        ]
        own: Mapping[str, str] = {}
        if node:
            moments += self._of_cloud(cluster, node)
            own = self.itself(cluster, node, self.question(slurm))
            moments += node_lines.moments_of_logs(own)
        story = told(each for each in moments if self._is_recent(each))
        is_checked = any(each.text.startswith(CHECK_UNDER_WAY) for each in story)
        found = replace(self.node_now(name, node, slurm, own), is_checked=is_checked)
        now = {"SageMaker": f"{node.status} {node.message}".strip() if node else GONE}
        now["Slurm"] = shown_state(found) or found.line.strip()
        causes = self._causes_of_node(found, nodes, is_silent=not story)
        began = _beginning(found, story, slurm)
        if began and causes:
            causes[0] = Cause(causes[0].says, began.fix or causes[0].fix)
        causes = [*causes_of_node_without_plan(node, groups_without_plan(cluster)), *causes]
        return self._story(name, now, story, causes, began.says if began else "", NODE=name,
                           GROUP=node.group if node else "GROUP")  # fmt: skip

    def question(self, slurm: Mapping[str, str]) -> str:
        """Return the command for a node's shell that prints its own state."""
        folders = [each.settings.mount_path for each in self.resolved.lustre]
        openzfs = self.resolved.openzfs
        folders += [openzfs.settings.mount_path] if openzfs else []
        spool = node_lines.setting(slurm, "SlurmdSpoolDir")
        return node_lines.node_itself(self.hours, folders=folders, spool=spool)

    def node_now(
        self, name: str, node: Node | None, slurm: Mapping[str, str], own: Mapping[str, str]
    ) -> NodeNow:
        """Read the answers of a controller and of the node itself."""
        roles = {group.name: group.role for group in self.resolved.groups}
        role = roles.get(node.group, Role.WORKER) if node else Role.WORKER
        return read_node_now(name, role, node, slurm, own, self.now)

    def _causes_of_node(
        self, node: NodeNow, nodes: tuple[Node, ...], *, is_silent: bool
    ) -> list[Cause]:
        if causes := causes_of_node(node):
            return causes
        if node.live is None and is_silent and not self.unread:
            return [_no_such_node(node.name, nodes, self.hours)]
        if node.live is None or "controller" in self.unread:
            return [Cause(NOBODY, "see more: slurmpod logs ENV --node NODE")]
        if node.own is None:
            return [
                Cause(
                    f"Slurm and SageMaker know of nothing that is wrong with {node.name} now; it"
                    " was not asked itself",
                    "see more: slurmpod logs ENV --node NODE",
                )
            ]
        takes = "it takes jobs" if node.role is Role.WORKER else f"it is a {node.role}"
        return [
            Cause(
                f"{node.name} is healthy: {takes}",
                "see the whole cluster: slurmpod status ENV",
            )
        ]

    def _of_job(self, id_: str, cluster: ClusterState, nodes: tuple[Node, ...]) -> Story:
        slurm = self.controller(cluster, nodes, node_lines.controller_on_job(id_, self.hours))
        line = slurm.get(STATE, "")
        names = expanded(job_of(id_, slurm, {}).nodes)
        first = next((each for each in nodes if each.name in names), None)
        own: Mapping[str, str] = {}
        if first:
            number = value_of(line, "JobId") or id_.partition("_")[0]
            word = f"(JobId=|job |StepId=|\\[){number}([^0-9]|$)"
            own = self.itself(cluster, first, node_lines.node_itself(self.hours, word))
        job = job_of(id_, slurm, own)
        span = span_of(slurm)
        on_node = [each for each in node_lines.moments_of_logs(own) if is_within(each, span)]
        moments = [*node_lines.moments_of_logs(slurm), *moments_of_job(slurm), *on_node]
        accounting = list(moments_of_accounting(self._doings, self.unread))
        moments += [*accounting, *moments_of_watcher(job.comment)]
        now = {"Slurm": job.shown or "no job of this number is known"}
        if names:
            now["nodes"] = job.nodes
        story = told(each for each in moments if self._is_recent(each))
        causes = [
            *causes_of_job_without_nodes(job, nodes, groups_without_plan(cluster), self.resolved),
            *causes_of_late_nodes(job, nodes),
            *causes_of_job(job, most_probable(meaning_of(each.text) for each in on_node)),
        ]
        said = [line, *(each.text for each in accounting)]
        if not causes and (silent := most_probable(map(meaning_of, said))):
            causes = [Cause(silent.says, silent.fix)]
        causes = with_watcher(causes, job.comment, job.state)
        return self._story(
            f"job {id_}",
            now,
            story,
            causes or [self._no_cause_of_job(job)],
            "",
            OUT=job.out,
            JOB=id_,
            NODE=next(iter([*names, *expanded(job.asked_nodes)]), "NODE"),
        )

    def _story(
        self,
        subject: str,
        now: Mapping[str, str],
        moments: tuple[Moment, ...],
        causes: Sequence[Cause],
        began: str,
        **names: str,
    ) -> Story:
        first, *also = (self.named(cause, **names) for cause in causes)
        return Story(subject, now, moments, self.unread, first, tuple(also), began)

    def controller(
        self, cluster: ClusterState, nodes: tuple[Node, ...], command: str
    ) -> Mapping[str, str]:
        """Query the first controller that answers; if none does, record that in `unread`."""
        try:
            return ask_controller(self.sessions, self.resolved, cluster.id, nodes, command)
        except AwsUnavailable as refusal:
            self.unread["controller"] = str(refusal)
            return {}

    def itself(self, cluster: ClusterState, node: Node, command: str) -> Mapping[str, str]:
        """Query a node; if it does not answer, record that in `unread`."""
        if node.status != IN_SERVICE:
            self.unread[node.name] = f"SageMaker says {node.status}"
            return {}
        try:
            return ask_node(self.sessions, cluster.id, node, command)
        except AwsUnavailable as refusal:
            self.unread[node.name] = str(refusal)
            return {}

    def _no_cause_of_job(self, job: JobNow) -> Cause:
        if job.is_known or "controller" in self.unread:
            return Cause(NOBODY, "see more: slurmpod logs ENV --job JOB")
        return Cause(
            f"there was no such job within {self.hours} hours, or Slurm keeps no records",
            "look further back: slurmpod why ENV JOB --hours 720",
        )

    def _of_cloud(self, cluster: ClusterState, node: Node) -> Iterator[Moment]:
        yield Moment(node.launched, "SageMaker", f"launched as {node.instance_id}")
        yield from moments_of_checks(self._doings, node.group, node.instance_id, self.unread)
        try:
            for event in self.view.events(self.resolved.name, node, MOST_EVENTS):
                yield Moment(event.time, "SageMaker", event.text)
        except AwsUnavailable as refusal:
            self.unread["events"] = str(refusal)
        try:
            yield from self._of_logs(cluster, node)
        except AwsUnavailable as refusal:
            self.unread["CloudWatch"] = str(refusal)

    def _of_logs(self, cluster: ClusterState, node: Node) -> Iterator[Moment]:
        since = self.now - timedelta(hours=self.hours)
        log_group = log_group_of(self.resolved.name, cluster.id)
        for kind in (LIFECYCLE, HEALTH):
            stream = f"{kind}/{node.group}/{node.instance_id}"
            for time, text in self.logs.lines(log_group, stream, since):
                report = read_report(node.group, node.instance_id, "", text)
                if report.summary:
                    yield Moment(time, "lifecycle", report.summary)
                elif kind == HEALTH or text.startswith("[SageMaker]"):
                    yield Moment(time, "health agent" if kind == HEALTH else "SageMaker", text)

    @property
    def _doings(self) -> ClusterOperations:
        return ClusterOperations(self.view.clients, self.resolved.name)

    def _is_recent(self, moment: Moment) -> bool:
        return moment.time >= self.now - timedelta(hours=self.hours)

    def named(self, cause: Cause, **names: str) -> Cause:
        """Return a cause with the names in its next step filled in."""
        fix = cause.fix
        for word, name in {**names, "ENV": self.file}.items():
            fix = re.sub(rf"\b{word}\b", name.replace("\\", r"\\"), fix)
        return Cause(cause.says, fix)


def _beginning(node: NodeNow, story: Sequence[Moment], slurm: Mapping[str, str]) -> Meaning | None:
    if not node.is_out:
        return None
    well = [end for end, started in node_lines.starts_on_node(slurm) if started]
    launched = node.live.launched if node.live else None
    return beginning_of(story, launched, max(well, default=None), node.reason)


def _no_such_node(name: str, nodes: tuple[Node, ...], hours: int) -> Cause:
    known = [word for each in nodes for word in (each.name, each.instance_id)]
    return Cause(
        f"no such node exists, and no source mentions it within {hours} hours",
        did_you_mean(name, known) or "see the nodes: slurmpod status ENV",
    )
