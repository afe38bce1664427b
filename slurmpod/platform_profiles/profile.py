"""The values of a platform profile: what HyperPod itself puts on nodes, and when.

The rehearsal's platform does what they say; `slurmpod observe` compares them with a live cluster.
Where each value comes from, and how sure it is, stands beside it in the file (see `loading`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from slurmpod.environment.base import StrictModel
from slurmpod.platform_profiles.slurm_versions import SlurmVersion


class Confidence(StrEnum):
    """The worth of the evidence for a value; `rehearsal` marks what only a rehearsal needs."""

    CERTAIN = "certain"
    LIKELY = "likely"
    DOUBTFUL = "doubtful"
    REHEARSAL = "rehearsal"


def _as_written(value: Any) -> Any:
    """Return a number as the text that it was: configuration files hold nothing else."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_as_written)]

Line = dict[str, Text]
"""The words `KEY=VALUE` of one line, in order."""

Milliseconds = Annotated[int, Field(ge=0, le=3_600_000)]


class AccountingInclude(StrEnum):
    """Who finds `include accounting.conf` in slurm.conf: nobody, or controllers of some kind."""

    NEVER = "never"
    WITHOUT_ON_CREATE = "without_on_create"
    ALWAYS = "always"


class Rewriting(StrEnum):
    """How slurm.conf is written again when nodes come and go."""

    BY_STRATEGY = "by_strategy"
    OVERWRITE = "overwrite"


class Controllers(StrEnum):
    """Some of the controllers of a cluster."""

    ALL = "all"
    FIRST = "first"


class SlurmConf(StrictModel):
    """slurm.conf and the files beside it.

    `{cluster}` stands for the cluster's name. Words whose value is about GPUs are left out for
    nodes without any, words about the nodes of an empty partition too.
    """

    lines: Line
    """What stands above the nodes, line by line: a keyword and what follows `=`, also a comment.
    A line with `{host}` and `{address}` stands once per controller; a key with # is a comment."""
    more_with_gpus: Line
    """What stands below these lines where a node has GPUs."""
    more_without_on_create: Line
    """What stands below these lines where HyperPod sets Slurm up, without an OnCreate script."""
    accounting_include: AccountingInclude
    """Which controllers find `include accounting.conf` below these lines."""
    node: Line
    """A node's line, of `{name}`, `{address}`, `{cpus}`, `{sockets}`, `{cores}` of a socket,
    `{threads}` of a core, `{memory_mib}` and `{gpus}`."""
    dev_partition: Line
    """The line of the partition of all nodes."""
    group_partition: Line
    """The line of a group's partition, of `{partition}` and `{nodes}`."""
    gres_conf: Line
    """gres.conf's line of a node with GPUs, of `{name}`, `{gpus}` and `{last_gpu}`."""
    cgroup_conf: Line
    """cgroup.conf, a word per line."""
    topology_conf: tuple[str, ...]
    """The lines of topology.conf, of `{nodes}`; there is none without GPUs or without nodes."""
    login_nodes: bool
    """Whether nodes of the login group are listed, and so in the partition of all nodes."""
    rewriting: Rewriting
    """Whether the cluster's SlurmConfigStrategy says how it is written again, or all of it is."""
    rewritten_on: Controllers
    """Which controllers get the new text."""
    nodes_after_scripts: bool
    """Whether nodes and partitions appear only after the scripts (OnCreate) of controllers."""
    new_groups_after_scripts: bool
    """Whether nodes of a group that an update brings appear only after their own scripts."""


class Software(StrictModel):
    """What scripts look for on a node, and whether it is there before any of them ran."""

    docker: bool
    """Docker and its service."""
    enroot: bool
    """enroot, which makes containers of images."""
    pyxis: bool
    """Slurm's plugin for `srun --container-image`, and its line in plugstack.conf."""
    mariadb: bool
    """MariaDB's server and its service."""
    pam_slurm_adopt: bool
    """PAM's module that lets users in where they have jobs."""


Unit = dict[str, Line]
"""The sections of a systemd unit; a value of several lines is a key given several times."""


TreeName = Annotated[str, Field(pattern=r"^slurm(-[a-z0-9.]+)?$")]


class Image(StrictModel):
    """A node's disk before any script ran, and its first minutes."""

    files: dict[str, Text]
    """Files that lie on every node, by absolute path."""
    units: dict[str, Unit]
    """Slurm's services: their units in /etc/systemd/system."""
    software: Software
    """What scripts look for."""
    slurm: SlurmVersion
    """The Slurm that nodes of a rehearsal run, whatever its folder is called."""
    slurm_trees: Annotated[tuple[TreeName, ...], Field(min_length=1)]
    """The folders of Slurm in /opt, side by side; /opt/slurm leads to the last one, or is it."""
    interface: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{1,14}$")]
    """The name of the network interface."""
    users: dict[str, Annotated[int, Field(gt=0)]]
    """Users with their numbers."""
    disks: tuple[str, ...]
    """Folders that are disks of their own."""
    metadata_needs_token: bool
    """Whether instance metadata answer with a session's token only (IMDSv2)."""
    metadata_has_tags: bool
    """Whether instance metadata tell the cluster's tags."""
    apt_locked_milliseconds: Milliseconds
    """How long apt's lock is held by somebody else after the boot."""
    own_name_unknown_milliseconds: Milliseconds
    """How long a node cannot resolve its own host name after its first boot."""


LogPath = Annotated[str, Field(pattern=r"^/var/log/[A-Za-z0-9._/-]+$")]


class AgentLogs(StrictModel):
    """Where HyperPod's agents write on nodes."""

    autoresume: LogPath
    """What `srun --auto-resume=1` did."""
    cluster_agent: LogPath
    """Of the agent that writes slurm.conf."""
    host_agent: LogPath
    """Of the agent that runs lifecycle scripts."""
    role_proxy_agent: LogPath
    """Of the agent that hands out the role's credentials."""
    deep_health_check: LogPath
    """The results of deep health checks, where some were made."""


class Agents(StrictModel):
    """HyperPod's own programs on nodes, as far as scripts and jobs see them."""

    cluster_agent_port: Annotated[int, Field(ge=1, le=65535)]
    """Where the agent on the controller answers `srun --auto-resume=1`."""
    logs: AgentLogs
    """Their logs."""


class Lifecycle(StrictModel):
    """How the host agent treats lifecycle scripts."""

    fetched_for_replacements: bool
    """Whether a replaced node gets the scripts as they are in S3 then, or those of the creation."""
    mounts_with_on_create: bool
    """Whether HyperPod mounts a group's file systems although its OnCreate script does it, too."""
    failure_marker: Text
    """The line in the log after scripts that failed; `{status}` is their exit status."""
    software_update_attempts: Annotated[int, Field(ge=1, le=10)]
    """How often an update of the software tries a node before it goes back to the old one."""


class Resuming(StrEnum):
    """The jobs whose failed step runs again in place; all others are requeued."""

    NONE = "none"
    WITHOUT_GPUS = "without_gpus"
    ALL = "all"


class AutoResume(StrictModel):
    """What `srun --auto-resume=1` does after a fault of hardware."""

    in_place: Resuming
    """Which jobs keep their allocation, and run the step again when the node is replaced."""


class Timing(StrictModel):
    """When what HyperPod does is seen on nodes; a rehearsal has no time for the real figures."""

    slurm_conf_milliseconds: Milliseconds
    """From the start of the controllers' scripts until slurm.conf is there."""
    late_nodes_milliseconds: Milliseconds
    """From the end of scripts until nodes are listed that appear only after them."""


class Profile(StrictModel):
    """All values of one profile."""

    about: str
    """What this describes, as one sentence."""
    source: str = ""
    """Where those values come from that name no source of their own."""
    confidence: Confidence = Confidence.DOUBTFUL
    """How sure those values are that do not say so themselves."""
    image: Image
    """What nodes have before any script runs."""
    agents: Agents
    """HyperPod's own programs on nodes."""
    lifecycle: Lifecycle
    """How the host agent treats lifecycle scripts."""
    auto_resume: AutoResume
    """What `srun --auto-resume=1` does after a fault of hardware."""
    slurm_conf: SlurmConf
    """slurm.conf and the files beside it, as the cluster agent writes them."""
    timing: Timing
    """When what HyperPod does is seen on nodes."""
