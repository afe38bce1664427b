"""Slurm as HyperPod's agents see and control it: through its commands, on a controller."""

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
"""With a controller down, Slurm's commands retry for long."""
_ALLOCATION_SECONDS = 10
"""How long our own job waits for its node, where another user's job may run for days."""
_JOB_SECONDS = 60
"""How long such a job may take, including its wait, on a busy machine."""
_SHOW_NODES = ("scontrol", "--oneliner", "show", "node")
_UPDATES_FOLLOW = "updates:\n"
_NODES_AND_UPDATES = f"""\
{shlex.join(_SHOW_NODES)} || exit
echo {_UPDATES_FOLLOW.strip()}
grep --no-messages {shlex.quote(slurmctld_log.UPDATES)} {slurmctld_log.SLURMCTLD_LOG} || true
"""
_MAINTENANCE = ("starttime=now", "duration=infinite", "users=root", "flags=maint,ignore_jobs")
_NOT_YET = frozenset({"BeginTime", "None"})
"""Why a requeued job waits; the second until the scheduler has checked the job again."""


@dataclass(frozen=True)
class Isolation:
    """A reservation, a partition that only root sees, and a node feature."""

    reservation: str
    partition: str
    feature: str


class SlurmControl:
    """Slurm as root on one controller; every method raises ClusterFailed or MachineFailed."""

    def __init__(self, machines: Machines, controller: str) -> None:
        self._machines = machines
        self.controller = controller

    def nodes(self) -> Mapping[str, SlurmNode]:
        """Return the state of every node that slurm.conf names."""
        return read_nodes(self._run(*_SHOW_NODES))

    def keeps_jobs_of_rebooted_nodes(self) -> bool:
        """Whether a job continues if one of its nodes registers after a boot unknown to Slurm.

        Otherwise slurmctld marks that node down and ends the job (slurm.conf(5), ReturnToService).
        """
        return _RETURNS_BY_ITSELF.search(self._run("scontrol", "show", "config")) is not None

    def nodes_and_updates(self) -> tuple[Mapping[str, SlurmNode], str]:
        """Return all node states, and the node changes on request from slurmctld's log.

        One command returns both, because it runs every second.
        """
        printed = self._run("sh", "-c", _NODES_AND_UPDATES)
        nodes, _, updates = printed.partition(_UPDATES_FOLLOW)
        return read_nodes(nodes), updates

    def jobs_on(self, node: str) -> list[str]:
        """Return the ids of the running jobs on a node."""
        running = ("--noheader", "--format=%A", "--states=RUNNING")
        return self._run("squeue", *running, f"--nodelist={node}").split()

    def nodes_of(self, job_id: str) -> list[str]:
        """Return the node names of a running job; none if it does not run."""
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
        """Keep jobs off a node, except root's in that reservation and partition."""
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
        """Undo `isolate`; the reservation is deleted with its last node."""
        self._set_features(node, "")
        self._run("scontrol", "update", f"partitionname={place.partition}", f"nodes-={node}")
        self._run_first_that_works(
            ["scontrol", "update", f"reservationname={place.reservation}", f"nodes-={node}"],
            ["scontrol", "delete", f"reservationname={place.reservation}"],
        )

    def run_on(self, node: str, script: str, place: Isolation) -> str:
        """Run a script on an isolated node, as a job of root, and return its output.

        Also raises ClusterFailed if other jobs leave no room there. A cancelled job ends within the
        minute, and makes room for the next try.
        """
        where = (f"--reservation={place.reservation}", f"--partition={place.partition}")
        patience = ("--quiet", f"--immediate={_ALLOCATION_SECONDS}", "--time=1")
        job = ("srun", "--chdir=/", *patience, *where, f"--nodelist={node}", "sh", "-c", script)
        return self._run(*job, seconds=_JOB_SECONDS)

    def is_telling_nodes(self) -> bool:
        """Whether slurmctld has pending messages to nodes, including dead ones."""
        return slurmctld_log.messages_are_under_way(self._run(slurmctld_log.MESSAGES_COMMAND))

    def is_ending_jobs(self) -> bool:
        """Whether a job is being removed from its nodes, after which it may be requeued."""
        return bool(self._run("squeue", "--noheader", "--format=%A", "--states=COMPLETING"))

    def start_requeued_jobs(self) -> None:
        """Start the jobs that Slurm requeued at once.

        They would wait for two minutes, until nothing of them can run any more; on HyperPod this
        time passes while the node is replaced. Not while `is_telling_nodes`: messages may end them.
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
