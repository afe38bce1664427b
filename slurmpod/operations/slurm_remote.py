"""Slurm of a live cluster: asked and told on a controller, through Session Manager.

It goes the way of `slurmpod lifecycle run`, and needs what that needs.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.operations.connect import NodeSessions, command_session
from slurmpod.operations.questions import PATIENCE_SECONDS, as_root, ask, question
from slurmpod.resolve import Resolved, session_target
from slurmpod.slurm.nodes import SlurmNode, read_nodes
from slurmpod.slurm.queue import WITH_NODES, QueuedJob, read_queue, squeue

NODES, JOBS, TOLD = "nodes", "jobs", "told"

RECORDS_BACKUP = "slurmpod-records-backup"
"""The service of slurmpod_lifecycle.kept_records, which its timer starts, too."""

BACKUP_SECONDS = 3600
"""How long saving the job records may take: years of them are gigabytes."""

_JOBS = squeue(f"--states={WITH_NODES}")

_LOOK = (
    f"""\
answer=$(scontrol ping 2>&1)
case $answer in *" is UP"*) ;; *) echo "slurmctld does not answer: $answer"; exit 1 ;; esac
known=$(scontrol --oneliner show node "$names" 2>/dev/null | \
    sed -n 's/^NodeName=\\([^ ]*\\) .*/\\1/p' | paste -s -d, -)
jobs_there() {{ [ -z "$known" ] || {_JOBS} --nodelist="$known"; }}
while [ "$seconds" -gt 0 ] && jobs_there | grep -q .; do sleep 1; seconds=$((seconds - 1)); done
"""
    + question(NODES, '[ -z "$known" ] || scontrol --oneliner show node "$known"')
    + question(JOBS, "jobs_there")
)

_NOW = "@now@"
"""Stands for the time on the controller."""


@dataclass(frozen=True)
class SlurmView:
    """What Slurm knows of some nodes, by name, and the jobs there."""

    nodes: Mapping[str, SlurmNode] = field(default_factory=dict)
    jobs: tuple[QueuedJob, ...] = ()


class RemoteSlurm:
    """Slurm on the first controller that answers; everything raises AwsUnavailable."""

    def __init__(self, sessions: NodeSessions, targets: Sequence[str]) -> None:
        self._sessions = sessions
        self._targets = targets

    @classmethod
    def of(
        cls,
        resolved: Resolved,
        nodes: ClusterView,
        live: Sequence[Node],
        sessions: NodeSessions,
    ) -> Self:
        """Return the Slurm of a live cluster; raises AwsUnavailable without a controller."""
        controllers = {group.name for group in resolved.groups_with(Role.CONTROLLER)}
        running = [node for node in live if node.group in controllers and node.status == "Running"]
        if not running:
            raise AwsUnavailable(f"{resolved.name} has no controller that runs")
        id_ = nodes.cluster_id(resolved.name)
        targets = [session_target(id_, node.group, node.instance_id) for node in running]
        return cls(sessions, targets)

    def look(self, names: Collection[str], *, seconds: int = 0) -> SlurmView:
        """Look at nodes, at once or as soon as no jobs: after `seconds` at the latest."""
        if not names:
            return SlurmView()
        asked = f"names={shlex.quote(','.join(sorted(names)))} seconds={seconds}\n"
        answers = self._ask(asked + _LOOK, PATIENCE_SECONDS + seconds)
        return SlurmView(read_nodes(answers[NODES]), read_queue(answers[JOBS]))

    def answers(self, script: str, patience_seconds: float = PATIENCE_SECONDS) -> Mapping[str, str]:
        """Let root run the questions of a script, and return the answers by their names."""
        return self._ask(script, patience_seconds)

    def drain(self, names: Collection[str], reason: str) -> None:
        """Let no new job start on nodes; those that run there go on.

        The time goes into the reason: slurmctld's own changes when it adds words.
        """
        self._update(names, "state=drain", f"reason={reason}, since {_NOW}")

    def resume(self, names: Collection[str]) -> None:
        """Let jobs start on nodes again."""
        self._update(names, "state=resume")

    def requeue(self, jobs: Sequence[QueuedJob]) -> Mapping[str, str]:
        """Put jobs back into the queue; return why some could not be, by the job's id."""
        said = self._tell([["scontrol", "requeue", job.id] for job in jobs])
        return {job.id: text for job, text in zip(jobs, said, strict=True) if text}

    def save_records(self) -> None:
        """Let the controller save its job records, as its timer does, and wait for the end."""
        (said,) = self._tell([["systemctl", "start", RECORDS_BACKUP]], BACKUP_SECONDS)
        if said:
            raise AwsUnavailable(
                f"the job records were not saved: {said} (journalctl -u {RECORDS_BACKUP} on the "
                "controller says why)"
            )

    def _update(self, names: Collection[str], *what: str) -> None:
        if not names:
            return
        listed = ",".join(sorted(names))
        (said,) = self._tell([["scontrol", "update", f"nodename={listed}", *what]])
        if said:
            raise AwsUnavailable(f"Slurm refused {' '.join(what)} for {listed}: {said}")

    def _tell(
        self, commands: Sequence[Sequence[str]], patience_seconds: float = PATIENCE_SECONDS
    ) -> list[str]:
        """Run commands; return what each said that failed, and nothing for one that succeeded."""
        if not commands:
            return []
        told = [question(f"{TOLD} {i}", _told(command)) for i, command in enumerate(commands)]
        answers = self._ask(f"now=$(date +%Y-%m-%dT%H:%M:%S)\n{''.join(told)}", patience_seconds)
        return [" ".join(answers[f"{TOLD} {i}"].split()) for i in range(len(commands))]

    def _ask(self, script: str, patience_seconds: float) -> Mapping[str, str]:
        command = as_root(f"PATH=/opt/slurm/bin:$PATH\n{script}")
        refusal = AwsUnavailable("no controller was asked")
        for target in self._targets:
            request = command_session(target, command)
            try:
                return ask(self._sessions, request, "the controller", patience_seconds)
            except AwsUnavailable as error:
                refusal = error
            except BaseException:
                self._sessions.end()
                raise
        raise refusal


def _told(command: Sequence[str]) -> str:
    """Return what a shell has to do so that a command is silent where it succeeds.

    A word with the time has a blank, so it stands in quotes, which end before the variable.
    """
    words = shlex.join(command).replace(_NOW, "'\"$now\"'")
    return f'said=$({words} 2>&1) && said=""\nprintf "%s\\n" "$said"'
