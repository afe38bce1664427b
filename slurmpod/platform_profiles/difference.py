"""A live value that is not the profile's, and what may break with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BREAKS: Mapping[str, str] = {
    "TaskPlugin": "auto-resume works with task/none alone",
    "PrologFlags": "auto-resume refuses Alloc; prologs run at another time",
    "SlurmctldParameters": "other nodes fetch their configuration only with enable_configless",
    "AuthType": "daemons do not know each other",
    "ExecStart": "a daemon starts with other options",
    "EnvironmentFile": "scripts that write a daemon's options into a file do so in vain",
    "ExecStartPre": "slurmd deletes another file, or none, before it starts",
    "slurm": "jobs and settings of another version of Slurm are refused, or mean something else",
    "slurm_trees": "scripts that name a version's folder change a Slurm that nobody runs",
    "mariadb": "job records need another place, or the way to a package",
    "GresTypes": "jobs that ask for GPUs are refused without it",
    "Gres": "jobs that ask for GPUs wait or are refused",
    "File": "jobs see other GPUs, or slurmd does not start",
    "SelectType": "jobs share nodes in another way",
    "SelectTypeParameters": "jobs share nodes in another way",
    "OverSubscribe": "a job has a node alone, or shares it",
    "RealMemory": "jobs that ask for memory are placed otherwise, or refused",
    "login_nodes": "sinfo and jobs count login nodes",
    "Nodes": "jobs go to other nodes",
    "MaxTime": "jobs end after another time",
    "Default": "jobs without a partition go elsewhere",
    "ReturnToService": "nodes that were down come back by themselves, or do not",
    "TopologyPlugin": "jobs are spread over switches in another way",
    "topology_conf": "jobs are spread over switches in another way",
    "pyxis": "jobs that ask for containers are refused, or pyxis is loaded twice",
    "enroot": "jobs that ask for containers are refused",
    "docker": "images are built elsewhere; scripts install it, or find it",
    "pam_slurm_adopt": "access.ssh_needs_job needs it",
    "ubuntu": "files on shared storage belong to somebody else",
    "disks": "containers and scratch files lie on another disk",
    "SchedulerParameters": "auto-resume in place needs permit_job_expansion",
    "StateSaveLocation": "scripts that save or share the state look elsewhere",
    "SlurmctldLogFile": "log rotation and alarms look elsewhere",
    "SlurmdLogFile": "log rotation and alarms look elsewhere",
    "MpiDefault": "srun starts MPI programs in another way",
    "interface": "programs that name the interface (NCCL_SOCKET_IFNAME) do not find it",
    "metadata_needs_token": "programs that ask for metadata without a token get no answer, or do",
    "files": "scripts that fill it in, or include it, do not find it",
    "logs": "log rotation, alarms and people look elsewhere",
    "units": "a daemon is started, stopped or watched in another way",
}
"""What differs may break, the worst first: by the value's name, else by that of what it is in."""

OWN_OF_REHEARSALS = frozenset(
    {"SlurmdParameters", "MailProg", "ProctrackType", "CgroupPlugin", "ExecStartPost"}
)
"""Settings that nodes of a rehearsal need as they are, whatever a live cluster has."""

NOTHING_KNOWN = "nothing that slurmpod knows of"


@dataclass(frozen=True)
class Difference:
    """A value of the profile, at its place in the file, and the live one; None where it is not.

    `nodes` are those where it is so; `everywhere` tells whether that is all that tell of it.
    """

    place: tuple[str, ...]
    profile: Any
    live: Any
    nodes: tuple[str, ...] = ()
    everywhere: bool = True

    @property
    def is_own_of_rehearsals(self) -> bool:
        """Whether rehearsals keep theirs."""
        return self.place[-1] in OWN_OF_REHEARSALS

    @property
    def breaks(self) -> str:
        """What may break with it."""
        if self.is_own_of_rehearsals:
            return "a rehearsal needs its own"
        return BREAKS.get(self._key, NOTHING_KNOWN)

    @property
    def rank(self) -> int:
        """Its place among others, the worst first."""
        known = [*BREAKS].index(self._key) if self._key in BREAKS else len(BREAKS)
        return len(BREAKS) + 1 if self.is_own_of_rehearsals else known

    @property
    def _key(self) -> str:
        """The innermost of the names at its place of which something is known."""
        return next((name for name in reversed(self.place) if name in BREAKS), "")
