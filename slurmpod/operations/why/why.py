"""Asks everybody who knows something of a node or job, and makes one story of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from slurmpod.aws.cluster import IN_SERVICE, ClusterState, ClusterView, Node
from slurmpod.aws.cluster_operations import ClusterOperations
from slurmpod.aws.deployment import ClusterLogs, log_group_of
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.hostlist import expanded
from slurmpod.operations.lifecycle import read_report
from slurmpod.operations.questions import ask_controller, ask_node
from slurmpod.operations.why import node_lines
from slurmpod.operations.why.cluster_moments import moments_of_accounting, moments_of_checks
from slurmpod.operations.why.meanings import STATES, Meaning, meaning_of
from slurmpod.operations.why.node_lines import RECORDS, STATE
from slurmpod.operations.why.story import (
    Cause,
    Moment,
    Story,
    meanings_for_a_node,
    most_probable,
    told,
)
from slurmpod.resolve import Resolved

JOB = re.compile(r"\d+(_\d+)?")
NODE = re.compile(r"[A-Za-z][A-Za-z0-9.-]*")
MOST_EVENTS = 50
WELL = re.compile(r"^(?:IDLE|ALLOCATED|MIXED)(?:\+(?:CLOUD|DYNAMIC\w*|PLANNED|RESERVED))*$")
SUBMITTED_FIELDS = 9
LIFECYCLE, HEALTH = "LifecycleConfig", "SagemakerHealthMonitoringAgent"
NOBODY = "nobody who was asked tells of a cause"


@dataclass
class Witnesses:
    """Who is asked of one cluster; `unread` fills with those who do not answer, and why."""

    view: ClusterView
    logs: ClusterLogs
    sessions: NodeSessions
    resolved: Resolved
    file: str
    now: datetime
    hours: int
    unread: dict[str, str] = field(default_factory=dict)

    def why(self, subject: str) -> Story:
        """Tell what happened to a node, by its name in Slurm or instance id, or to a job.

        Raises:
            AwsUnavailable: the cluster or its nodes cannot be listed.
        """
        cluster = self.view.cluster(self.resolved.name)
        nodes = self.view.nodes(self.resolved.name)
        tell = self._of_job if JOB.fullmatch(subject) else self._of_node
        try:
            return tell(subject, cluster, nodes)
        except BaseException:
            self.sessions.end()
            raise

    def _of_node(self, subject: str, cluster: ClusterState, nodes: tuple[Node, ...]) -> Story:
        node = next((each for each in nodes if subject in (each.name, each.instance_id)), None)
        name = node.name if node else subject
        command = node_lines.controller_on_node(name, self.hours)
        slurm = self._controller(cluster, nodes, command)
        line = slurm.get(STATE, "")
        state, reason = node_lines.field(line, "State"), node_lines.field(line, "Reason")
        moments = [
            *node_lines.moments_of_logs(slurm),
            *node_lines.moments_of_node_records(slurm),
        ]
        now = {"Slurm": f"{state}{': ' if reason else ''}{reason}" if state else line.strip()}
        if node:
            now = {"SageMaker": f"{node.status} {node.message}".strip(), **now}
            moments += self._of_cloud(cluster, node)
            own = self._itself(cluster, node, node_lines.node_itself(self.hours))
            moments += node_lines.moments_of_logs(own)
        else:
            now = {"SageMaker": "there is no such node now", **now}
        story = told(each for each in moments if self._is_recent(each))
        is_well = bool(node and node.status == IN_SERVICE and WELL.match(state))
        said = f"reason: {reason.rpartition(' [')[0] or reason}" if state else line
        cause = self._cause_of_node(name, story, said, is_well=is_well)
        if node is None and not story and not self.unread:
            cause = self._named(_no_such_node(name, nodes, self.hours))
        return Story(name, now, story, self.unread, cause)

    def _cause_of_node(
        self, name: str, story: tuple[Moment, ...], said: str, *, is_well: bool
    ) -> Cause:
        if is_well:
            return Cause(
                f"nothing is wrong with {name} now: it takes jobs",
                f"see the whole cluster: slurmpod status {self.file}",
            )
        no_cause = Cause(NOBODY, "see more: slurmpod logs ENV --node NODE")
        meanings = [*meanings_for_a_node(story), meaning_of(said)]
        return self._named(most_probable(meanings) or no_cause, NODE=name)

    def _of_job(self, job: str, cluster: ClusterState, nodes: tuple[Node, ...]) -> Story:
        slurm = self._controller(cluster, nodes, node_lines.controller_on_job(job, self.hours))
        records = [line.split("|") for line in slurm.get(RECORDS, "").splitlines()]
        whole = next((each for each in records if len(each) == SUBMITTED_FIELDS), [])
        line = slurm.get(STATE, "")
        state = _job_state(line, whole)
        if state == "RUNNING" and _runs_nothing(line, records):
            state = "RUNNING without a step"
        nodelist = node_lines.field(line, "NodeList") or (whole[5] if whole else "")
        moments = [*node_lines.moments_of_logs(slurm), *_moments_of_job(records, slurm)]
        moments += moments_of_accounting(self._doings, self.unread)
        names = [] if "None" in nodelist else expanded(nodelist)
        first = next((each for each in nodes if each.name in names), None)
        if first:
            word = f"(JobId=|job |StepId=|\\[){job.partition('_')[0]}([^0-9]|$)"
            own = self._itself(cluster, first, node_lines.node_itself(self.hours, word))
            moments += node_lines.moments_of_logs(own)
        now = {"Slurm": state or "no job of this number is known"}
        if names:
            now["nodes"] = nodelist
        story = told(each for each in moments if self._is_recent(each))
        meanings: list[Meaning | None] = [meaning_of(state, STATES) if state else meaning_of(line)]
        if not state.startswith(("COMPLETED", "RUNNING", "PENDING")):
            meanings += [meaning_of(each.text) for each in story]
        out = node_lines.field(line, "StdOut") or "the file that --output names"
        cause = most_probable(meanings) or _no_cause_of_job(state, self.hours)
        first_node = names[0] if names else "NODE"
        return Story(
            f"job {job}",
            now,
            story,
            self.unread,
            self._named(cause, OUT=out, JOB=job, NODE=first_node),
        )

    def _controller(
        self, cluster: ClusterState, nodes: tuple[Node, ...], command: str
    ) -> Mapping[str, str]:
        try:
            return ask_controller(self.sessions, self.resolved, cluster.id, nodes, command)
        except AwsUnavailable as refusal:
            self.unread["controller"] = str(refusal)
            return {}

    def _itself(self, cluster: ClusterState, node: Node, command: str) -> Mapping[str, str]:
        if node.status != IN_SERVICE:
            self.unread[node.name] = f"SageMaker says {node.status}"
            return {}
        try:
            return ask_node(self.sessions, cluster.id, node, command)
        except AwsUnavailable as refusal:
            self.unread[node.name] = str(refusal)
            return {}

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

    def _named(self, cause: Cause, **names: str) -> Cause:
        fix = cause.fix
        for word, name in {**names, "ENV": self.file}.items():
            fix = re.sub(rf"\b{word}\b", name.replace("\\", r"\\"), fix)
        return Cause(cause.says, fix)


def _no_such_node(name: str, nodes: tuple[Node, ...], hours: int) -> Cause:
    known = [word for each in nodes for word in (each.name, each.instance_id)]
    return Cause(
        f"there is no such node, and nobody tells of one within {hours} hours",
        did_you_mean(name, known) or "see the nodes: slurmpod status ENV",
    )


def _no_cause_of_job(state: str, hours: int) -> Cause:
    if state:
        return Cause(NOBODY, "see more: slurmpod logs ENV --job JOB")
    return Cause(
        f"there was no such job within {hours} hours, or Slurm keeps no records",
        "look further back: slurmpod why ENV JOB --hours 720",
    )


def _job_state(line: str, record: list[str]) -> str:
    """Return the state of a job, with its exit code if it failed, or why it waits."""
    state = record[1] if record else node_lines.field(line, "JobState")
    state = node_lines.field(line, "JobState") or state
    if state == "PENDING":
        return f"PENDING ({node_lines.field(line, 'Reason') or 'no reason is given'})"
    code = node_lines.field(line, "ExitCode") or (record[2] if record else "")
    if record and record[1].startswith("CANCELLED"):
        return record[1]
    return f"FAILED exit {code}" if state == "FAILED" else state


def _runs_nothing(line: str, records: list[list[str]]) -> bool:
    """Return whether a job has nodes, and neither a batch script nor a step: if records tell."""
    known = {id_.partition(".")[2] for id_, *rest in records if len(rest) == SUBMITTED_FIELDS - 1}
    return node_lines.field(line, "BatchFlag") == "0" and "" in known <= {"", "extern"}


def _moments_of_job(records: list[list[str]], slurm: Mapping[str, str]) -> Iterator[Moment]:
    """Read when a job and its steps began and ended."""
    zone = node_lines.zone_of(slurm)
    for each in records:
        if len(each) != SUBMITTED_FIELDS:
            continue
        id_, state, code, start, end, nodes, user, submit, _ = each
        if "." not in id_ and (time := node_lines.moment_of(submit, zone)):
            yield Moment(time, "records", f"{user} submitted it")
        if "." not in id_ and (time := node_lines.moment_of(start, zone)):
            yield Moment(time, "records", f"it began on {nodes}")
        if time := node_lines.moment_of(end, zone):
            what = "it" if "." not in id_ else f"step {id_.partition('.')[2]}"
            yield Moment(time, "records", f"{what} ended: {state}, exit code {code}")
