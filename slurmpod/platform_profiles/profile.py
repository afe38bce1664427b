"""The values of a platform profile: what HyperPod itself puts on nodes, and when.

The rehearsal's platform behaves accordingly; `slurmpod observe` compares a live cluster with them.
The source of each value, and the confidence in it, are in the same file (see `loading`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from slurmpod.environment.base import StrictModel
from slurmpod.platform_profiles.slurm_versions import SlurmVersion


class Confidence(StrEnum):
    """Confidence in a value's evidence; `rehearsal` marks values that only rehearsals need."""

    CERTAIN = "certain"
    LIKELY = "likely"
    DOUBTFUL = "doubtful"
    REHEARSAL = "rehearsal"


def _as_written(value: Any) -> Any:
    """Return an integer as text, the only type in configuration files."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_as_written)]

Line = dict[str, Text]
"""The `KEY=VALUE` words of one line, in order."""

Milliseconds = Annotated[int, Field(ge=0, le=3_600_000)]


class AccountingInclude(StrEnum):
    """Which clusters' slurm.conf has `include accounting.conf`."""

    NEVER = "never"
    WITHOUT_ON_CREATE = "without_on_create"
    ALWAYS = "always"


class Rewriting(StrEnum):
    """How slurm.conf is rewritten when nodes are added or removed."""

    BY_STRATEGY = "by_strategy"
    OVERWRITE = "overwrite"


class Controllers(StrEnum):
    """Some of the controllers of a cluster."""

    ALL = "all"
    FIRST = "first"


class SlurmConf(StrictModel):
    """slurm.conf and the files beside it.

    `{cluster}` is a placeholder for the cluster's name. Words with a GPU value are left out for
    nodes without GPUs, and words with nodes are left out for an empty partition.
    """

    lines: Line
    """The lines above the nodes: each keyword with the text after `=`. A line with `{host}` and
    `{address}` is written once per controller; a key that starts with # is a comment."""
    more_with_gpus: Line
    """Lines added below `lines` if a node has GPUs."""
    more_without_on_create: Line
    """Lines added below `lines` if HyperPod sets up Slurm, without an OnCreate script."""
    accounting_include: AccountingInclude
    """When `include accounting.conf` follows these lines."""
    node: Line
    """A node's line, with `{name}`, `{address}`, `{cpus}`, `{sockets}`, `{cores}` per socket,
    `{threads}` per core, `{memory_mib}` and `{gpus}`."""
    dev_partition: Line
    """The line of the partition of all nodes."""
    group_partition: Line
    """The line of a group's partition, with `{partition}` and `{nodes}`."""
    gres_conf: Line
    """The gres.conf line of a node with GPUs, with `{name}`, `{gpus}` and `{last_gpu}`."""
    cgroup_conf: Line
    """cgroup.conf, one word per line."""
    topology_conf: tuple[str, ...]
    """The lines of topology.conf, with `{nodes}`; not written without GPUs or without nodes."""
    login_nodes: bool
    """Whether login nodes are listed, and so belong to the partition of all nodes."""
    rewriting: Rewriting
    """Whether a rewrite follows the cluster's SlurmConfigStrategy or replaces the whole file."""
    rewritten_on: Controllers
    """The controllers that get the new text."""
    nodes_after_scripts: bool
    """Whether nodes and partitions appear only after the controllers' OnCreate scripts."""
    new_groups_after_scripts: bool
    """Whether nodes of a group added by an update appear only after their own scripts."""


class Software(StrictModel):
    """Software that scripts look for, and whether the image has it before any script runs."""

    docker: bool
    """Docker and its service."""
    enroot: bool
    """enroot, which turns container images into unprivileged containers."""
    pyxis: bool
    """Slurm's plugin for `srun --container-image`, with its line in plugstack.conf."""
    mariadb: bool
    """The MariaDB server and its service."""
    pam_slurm_adopt: bool
    """The PAM module that admits users only to nodes with one of their jobs."""


Unit = dict[str, Line]
"""The sections of a systemd unit; a value with several lines is a repeated key."""


TreeName = Annotated[str, Field(pattern=r"^slurm(-[a-z0-9.]+)?$")]


class Image(StrictModel):
    """A node's disk before any script has run, and its first minutes."""

    files: dict[str, Text]
    """Files on every node, by absolute path."""
    units: dict[str, Unit]
    """Slurm's services: their units in /etc/systemd/system."""
    software: Software
    """Software that scripts look for."""
    slurm: SlurmVersion
    """The Slurm version on nodes of a rehearsal, whatever its folder is called."""
    slurm_trees: Annotated[tuple[TreeName, ...], Field(min_length=1)]
    """Slurm's folders in /opt; /opt/slurm is the last one or a link to it."""
    interface: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{1,14}$")]
    """The name of the network interface."""
    users: dict[str, Annotated[int, Field(gt=0)]]
    """Users and their UIDs."""
    disks: tuple[str, ...]
    """Folders that are mount points of separate disks."""
    metadata_needs_token: bool
    """Whether instance metadata requires a session token (IMDSv2)."""
    metadata_has_tags: bool
    """Whether instance metadata includes the cluster's tags."""
    apt_locked_milliseconds: Milliseconds
    """How long another process holds apt's lock after boot."""
    own_name_unknown_milliseconds: Milliseconds
    """How long a node cannot resolve its own host name after its first boot."""


LogPath = Annotated[str, Field(pattern=r"^/var/log/[A-Za-z0-9._/-]+$")]


class AgentLogs(StrictModel):
    """The log files of HyperPod's agents on nodes."""

    autoresume: LogPath
    """The log of `srun --auto-resume=1`."""
    cluster_agent: LogPath
    """The log of the agent that writes slurm.conf."""
    host_agent: LogPath
    """The log of the agent that runs lifecycle scripts."""
    role_proxy_agent: LogPath
    """The log of the agent that provides the role's credentials."""
    deep_health_check: LogPath
    """The results of deep health checks, if any were run."""


class Agents(StrictModel):
    """HyperPod's own programs on nodes, as scripts and jobs see them."""

    cluster_agent_port: Annotated[int, Field(ge=1, le=65535)]
    """The port on the controller that `srun --auto-resume=1` connects to."""
    logs: AgentLogs
    """The agents' logs."""


class Lifecycle(StrictModel):
    """How the host agent treats lifecycle scripts."""

    fetched_for_replacements: bool
    """Whether a replacement fetches the current scripts from S3 or uses those of the creation."""
    mounts_with_on_create: bool
    """Whether HyperPod mounts a group's file systems even if it has an OnCreate script."""
    failure_marker: Text
    """The log line that follows failed scripts; `{status}` is their exit status."""
    software_update_attempts: Annotated[int, Field(ge=1, le=10)]
    """How many times a software update tries a node before rolling it back."""


class Resuming(StrEnum):
    """The jobs whose failed step is resumed in place; all others are requeued."""

    NONE = "none"
    WITHOUT_GPUS = "without_gpus"
    ALL = "all"


class AutoResume(StrictModel):
    """The behavior of `srun --auto-resume=1` after a hardware fault."""

    in_place: Resuming
    """The jobs that keep their allocation and rerun the step once the node is replaced."""


class Timing(StrictModel):
    """Delays before HyperPod's actions show on nodes; shorter in rehearsals than in AWS."""

    slurm_conf_milliseconds: Milliseconds
    """From the start of the controllers' scripts until slurm.conf exists."""
    late_nodes_milliseconds: Milliseconds
    """From the end of scripts until late nodes are listed."""


class Profile(StrictModel):
    """All values of one profile."""

    about: str
    """What the profile describes, in one sentence."""
    source: str = ""
    """The source of values that name none."""
    confidence: Confidence = Confidence.DOUBTFUL
    """The confidence in values that state none."""
    image: Image
    """The contents of nodes before any script runs."""
    agents: Agents
    """HyperPod's own programs on nodes."""
    lifecycle: Lifecycle
    """How the host agent treats lifecycle scripts."""
    auto_resume: AutoResume
    """The behavior of `srun --auto-resume=1` after a hardware fault."""
    slurm_conf: SlurmConf
    """slurm.conf and the files beside it, as the cluster agent writes them."""
    timing: Timing
    """Delays before HyperPod's actions show on nodes."""
