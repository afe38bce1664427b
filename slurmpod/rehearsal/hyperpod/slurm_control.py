"""Slurm as HyperPod's agents see and steer it: through its commands, on a controller."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embedded_aws.cluster import ClusterFailed
from slurmpod.rehearsal import slurmctld_log
from slurmpod.rehearsal.hyperpod.node_files import run_command
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.slurm.nodes import SlurmNode, read_nodes

_RETURNS_BY_ITSELF = re.compile(r"^ReturnToService += 2$", re.MULTILINE)
_COMMAND_SECONDS = 15
"""A controller that is down makes Slurm's commands try again for long."""
_ALLOCATION_SECONDS = 10
"""How long a job of ours waits for its node, on which somebody else's job may run for days."""
_JOB_SECONDS = 60
"""How long such a job may take, with its wait, on a machine that has much else to do."""
_SHOW_NODES = ("scontrol", "--oneliner", "show", "node")
_UPDATES_FOLLOW = "updates:\n"
_NODES_AND_UPDATES = f"""\
{shlex.join(_SHOW_NODES)} || exit
echo {_UPDATES_FOLLOW.strip()}
grep --no-messages {shlex.quote(slurmctld_log.UPDATES)} {slurmctld_log.SLURMCTLD_LOG} || true
"""
_MAINTENANCE = ("starttime=now", "duration=infinite", "users=root", "flags=maint,ignore_jobs")
_NOT_YET = frozenset({"BeginTime", "None"})
"""Why a requeued job waits; it is the latter until the scheduler has looked at the job again."""


@dataclass(frozen=True)
class Isolation:
    """A reservation, a partition that only root sees, and a feature of the nodes there."""

    reservation: str
    partition: str
    feature: str


class SlurmControl:
    """Slurm as root sees it on one controller; everything raises ClusterFailed or MachineFailed."""

    def __init__(self, machines: Machines, controller: str) -> None:
        self._machines = machines
        self.controller = controller

    def nodes(self) -> Mapping[str, SlurmNode]:
        """Return the state of every node that slurm.conf names."""
        return read_nodes(self._run(*_SHOW_NODES))

    def keeps_jobs_of_rebooted_nodes(self) -> bool:
        """Whether a job goes on when a node of it registers after a boot that Slurm knew not of.

        Otherwise slurmctld sets that node down, and ends the job (slurm.conf(5), ReturnToService).
        """
        return _RETURNS_BY_ITSELF.search(self._run("scontrol", "show", "config")) is not None

    def nodes_and_updates(self) -> tuple[Mapping[str, SlurmNode], str]:
        """Return all states, and what slurmctld's log says of changes that somebody made to nodes.

        One command asks for both, because who watches asks every second.
        """
        printed = self._run("sh", "-c", _NODES_AND_UPDATES)
        nodes, _, updates = printed.partition(_UPDATES_FOLLOW)
        return read_nodes(nodes), updates

    def jobs_on(self, node: str) -> list[str]:
        """Return the ids of the jobs that run on a node."""
        running = ("--noheader", "--format=%A", "--states=RUNNING")
        return self._run("squeue", *running, f"--nodelist={node}").split()

    def nodes_of(self, job_id: str) -> list[str]:
        """Return the names of the nodes of a job that runs; none when it does not."""
        which = ("--noheader", "--format=%A %N", "--states=RUNNING")
        for line in self._run("squeue", *which).splitlines():
            running, names = line.split()
            if running == job_id:
                return self._run("scontrol", "show", "hostnames", names).split()
        return []

    def set_node(self, node: str, state: str, reason: str = "") -> None:
        """Change a node's state, as an administrator would."""
        why = [f"reason={reason}"] if reason else []
        self._run("scontrol", "update", f"nodename={node}", f"state={state}", *why)

    def requeue(self, job_id: str) -> None:
        """Stop a job and put it back into the queue."""
        self._run("scontrol", "requeue", job_id)

    def isolate(self, node: str, place: Isolation) -> None:
        """Keep jobs away from a node, but for those of root in that place."""
        reserved = f"reservationname={place.reservation}"
        self._run_first_that_works(
            ["scontrol", "update", reserved, f"nodes+={node}"],
            ["scontrol", "create", reserved, f"nodes={node}", *_MAINTENANCE],
        )
        named = f"partitionname={place.partition}"
        self._run_first_that_works(
            ["scontrol", "update", named, f"nodes+={node}"],
            ["scontrol", "create", named, f"nodes={node}", "hidden=yes", "state=up"],
        )
        self._set_features(node, place.feature)

    def release(self, node: str, place: Isolation) -> None:
        """Undo what `isolate` did; the reservation goes with its last node."""
        self._set_features(node, "")
        self._run("scontrol", "update", f"partitionname={place.partition}", f"nodes-={node}")
        self._run_first_that_works(
            ["scontrol", "update", f"reservationname={place.reservation}", f"nodes-={node}"],
            ["scontrol", "delete", f"reservationname={place.reservation}"],
        )

    def run_on(self, node: str, script: str, place: Isolation) -> str:
        """Run a script on an isolated node, as a job of root, and return what it prints.

        Raises ClusterFailed, too, when other jobs leave no room there. A job that is given up ends
        within the minute, and makes room for the next try.
        """
        where = (f"--reservation={place.reservation}", f"--partition={place.partition}")
        patience = ("--quiet", f"--immediate={_ALLOCATION_SECONDS}", "--time=1")
        job = ("srun", "--chdir=/", *patience, *where, f"--nodelist={node}", "sh", "-c", script)
        return self._run(*job, seconds=_JOB_SECONDS)

    def is_telling_nodes(self) -> bool:
        """Whether slurmctld has messages to nodes, dead ones too, that may still arrive."""
        return slurmctld_log.messages_are_under_way(self._run(slurmctld_log.MESSAGES_COMMAND))

    def is_ending_jobs(self) -> bool:
        """Whether a job is being cleared away from its nodes, after which it may be requeued."""
        return bool(self._run("squeue", "--noheader", "--format=%A", "--states=COMPLETING"))

    def start_requeued_jobs(self) -> None:
        """Let jobs that Slurm took back start at once.

        They would wait for two minutes, until nothing of them can run any more; on HyperPod these
        pass while the node is replaced. Not while `is_telling_nodes`: it may be their end.
        """
        columns = ("--noheader", "--Format=JobID:|,Reason:|,RestartCnt:|")
        for line in self._run("squeue", *columns, "--states=PENDING").splitlines():
            job_id, reason, restarts, _ = (word.strip() for word in line.split("|"))
            if reason in _NOT_YET and restarts != "0":
                self._run("scontrol", "update", f"jobid={job_id}", "starttime=now")

    def _set_features(self, node: str, features: str) -> None:
        both = (f"availablefeatures={features}", f"activefeatures={features}")
        self._run("scontrol", "update", f"nodename={node}", *both)

    def _run_first_that_works(self, *commands: Sequence[str]) -> None:
        """Run commands until one succeeds; the last one may fail like any other."""
        *others, last = commands
        for command in others:
            try:
                self._run(*command)
            except ClusterFailed:
                continue
            return
        self._run(*last)

    def _run(self, *command: str, seconds: float = _COMMAND_SECONDS) -> str:
        return run_command(self._machines, self.controller, command, seconds=seconds).decode()
