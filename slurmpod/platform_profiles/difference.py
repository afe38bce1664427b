"""A live value that differs from the profile's, and what the difference may break."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BREAKS: Mapping[str, str] = {
    "TaskPlugin": "auto-resume works only with task/none",
    "PrologFlags": "auto-resume rejects Alloc; prologs run at a different time",
    "SlurmctldParameters": "other nodes fetch their configuration only with enable_configless",
    "AuthType": "daemons cannot authenticate each other",
    "ExecStart": "a daemon starts with different options",
    "EnvironmentFile": "options that scripts write to the file have no effect",
    "ExecStartPre": "slurmd deletes a different file, or none, before it starts",
    "slurm": "jobs and settings for a different Slurm version are rejected or change meaning",
    "slurm_trees": "scripts that name a version's folder change a Slurm that is not running",
    "mariadb": "job records need another database or a package source",
    "GresTypes": "jobs that request GPUs are rejected without it",
    "Gres": "jobs that request GPUs wait or are rejected",
    "File": "jobs see the wrong GPUs, or slurmd does not start",
    "SelectType": "jobs share nodes differently",
    "SelectTypeParameters": "jobs share nodes differently",
    "OverSubscribe": "jobs get whole nodes, or share them",
    "RealMemory": "jobs that request memory are placed differently or rejected",
    "login_nodes": "sinfo and jobs count login nodes",
    "Nodes": "jobs run on different nodes",
    "MaxTime": "jobs have a different time limit",
    "Default": "jobs without a partition go to another partition",
    "ReturnToService": "down nodes return to service automatically, or do not",
    "TopologyPlugin": "jobs are spread over switches differently",
    "topology_conf": "jobs are spread over switches differently",
    "pyxis": "jobs that request containers are rejected, or pyxis is loaded twice",
    "enroot": "jobs that request containers are rejected",
    "docker": "images are built elsewhere; scripts have to install it, or find it installed",
    "pam_slurm_adopt": "access.ssh_needs_job requires it",
    "ubuntu": "files on shared storage belong to another user",
    "disks": "containers and scratch files are on another disk",
    "SchedulerParameters": "auto-resume in place requires permit_job_expansion",
    "StateSaveLocation": "scripts that save or share the state look elsewhere",
    "SlurmctldLogFile": "log rotation and alarms look elsewhere",
    "SlurmdLogFile": "log rotation and alarms look elsewhere",
    "MpiDefault": "srun starts MPI programs differently",
    "interface": "programs that set the interface by name (NCCL_SOCKET_IFNAME) do not find it",
    "metadata_needs_token": "programs that request metadata without a token fail, or succeed",
    "files": "scripts that edit or include the file do not find it",
    "logs": "log rotation, alarms and users look elsewhere",
    "units": "a daemon is started, stopped or watched differently",
}
"""What a difference may break, worst first: keyed by the value's name or a parent's name."""

OWN_OF_REHEARSALS = frozenset(
    {"SlurmdParameters", "MailProg", "ProctrackType", "CgroupPlugin", "ExecStartPost"}
)
"""Settings that rehearsed nodes keep even if a live cluster differs."""

NOTHING_KNOWN = "nothing known"


@dataclass(frozen=True)
class Difference:
    """A value of the profile, its path in the file, and the live value (None if it is absent).

    `nodes` are those with the live value; `everywhere` is whether all nodes that report it agree.
    """

    place: tuple[str, ...]
    profile: Any
    live: Any
    nodes: tuple[str, ...] = ()
    everywhere: bool = True

    @property
    def is_own_of_rehearsals(self) -> bool:
        """Whether rehearsals keep the profile's value."""
        return self.place[-1] in OWN_OF_REHEARSALS

    @property
    def breaks(self) -> str:
        """What the difference may break."""
        if self.is_own_of_rehearsals:
            return "a rehearsal keeps its own value"
        return BREAKS.get(self._key, NOTHING_KNOWN)

    @property
    def rank(self) -> int:
        """The sort key: the worst differences first."""
        known = [*BREAKS].index(self._key) if self._key in BREAKS else len(BREAKS)
        return len(BREAKS) + 1 if self.is_own_of_rehearsals else known

    @property
    def _key(self) -> str:
        """The innermost name in its path for which an effect is known."""
        return next((name for name in reversed(self.place) if name in BREAKS), "")
