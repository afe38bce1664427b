"""Slurm of a live cluster: queries and changes on a controller, through Session Manager.

It connects as `slurmpod lifecycle run` does, and has the same requirements.
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
"""A placeholder for the time on the controller."""


@dataclass(frozen=True)
class SlurmView:
    """Slurm's state of some nodes, by name, and their jobs."""

    nodes: Mapping[str, SlurmNode] = field(default_factory=dict)
    jobs: tuple[QueuedJob, ...] = ()


class RemoteSlurm:
    """Slurm on the first controller that answers; all methods raise AwsUnavailable."""

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
            raise AwsUnavailable(f"{resolved.name} has no running controller")
        id_ = nodes.cluster_id(resolved.name)
        targets = [session_target(id_, node.group, node.instance_id) for node in running]
        return cls(sessions, targets)

    def look(self, names: Collection[str], *, seconds: int = 0) -> SlurmView:
        """Look at nodes, at once or as soon as they have no jobs: after `seconds` at the latest."""
        if not names:
            return SlurmView()
        asked = f"names={shlex.quote(','.join(sorted(names)))} seconds={seconds}\n"
        answers = self._ask(asked + _LOOK, PATIENCE_SECONDS + seconds)
        return SlurmView(read_nodes(answers[NODES]), read_queue(answers[JOBS]))

    def answers(self, script: str, patience_seconds: float = PATIENCE_SECONDS) -> Mapping[str, str]:
        """Run the queries of a script as root, and return the answers by name."""
        return self._ask(script, patience_seconds)

    def drain(self, names: Collection[str], reason: str) -> None:
        """Start no new jobs on nodes; running ones continue.

        The time is part of the reason: slurmctld's own timestamp changes when it appends to it.
        """
        self._update(names, "state=drain", f"reason={reason}, since {_NOW}")

    def resume(self, names: Collection[str]) -> None:
        """Let jobs start on nodes again."""
        self._update(names, "state=resume")

    def requeue(self, jobs: Sequence[QueuedJob]) -> Mapping[str, str]:
        """Requeue jobs; return why some could not be requeued, by job id."""
        said = self._tell([["scontrol", "requeue", job.id] for job in jobs])
        return {job.id: text for job, text in zip(jobs, said, strict=True) if text}

    def save_records(self) -> None:
        """Save the job records on the controller, as its timer does, and wait for the end."""
        (said,) = self._tell([["systemctl", "start", RECORDS_BACKUP]], BACKUP_SECONDS)
        if said:
            raise AwsUnavailable(
                f"the job records were not saved: {said} (journalctl -u {RECORDS_BACKUP} on the "
                "controller)"
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
        """Run commands; return the output of each failed one, and an empty text for success."""
        if not commands:
            return []
        questions = [question(f"{TOLD} {i}", _told(command)) for i, command in enumerate(commands)]
        answers = self._ask(
            f"now=$(date +%Y-%m-%dT%H:%M:%S)\n{''.join(questions)}", patience_seconds
        )
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
    """Return the shell command that prints nothing on success.

    A word with the time contains a space, so it is quoted up to the variable.
    """
    words = shlex.join(command).replace(_NOW, "'\"$now\"'")
    return f'said=$({words} 2>&1) && said=""\nprintf "%s\\n" "$said"'
