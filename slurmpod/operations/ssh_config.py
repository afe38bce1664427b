"""Hosts for ssh: the nodes of a live cluster, reached through Session Manager.

sshd on the node asks for a key of the environment's user, as within the cluster; Session Manager
only carries the bytes. No port is open to the internet.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from slurmpod.aws.cluster import Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.resolve import Resolved, session_target
from slurmpod.whole_file import write_whole

DOCUMENT = "AWS-StartSSHSession"
"""AWS's session document that carries the bytes of an SSH connection."""

FOLDER = "slurmpod"
"""The folder below ~/.ssh with a file for each environment."""

INCLUDE = f"Include {FOLDER}/*.conf"


@dataclass(frozen=True)
class SshHost:
    """A node as ssh calls it: the first of a group by the group's name, too."""

    aliases: tuple[str, ...]
    hostname: str
    instance_id: str
    target: str


def require_unrecorded(resolved: Resolved) -> None:
    """Raise AwsUnavailable where the environment demands records, which SSH does not leave."""
    sessions = resolved.access.sessions
    if sessions and sessions.record != "none":
        raise AwsUnavailable(
            f"{resolved.name} records its sessions (access.sessions.record: {sessions.record}),"
            " and SSH through Session Manager leaves no record: AWS carries encrypted bytes that "
            "it cannot read.\nOpen a recorded session with slurmpod connect, or write "
            "'record: none' and let people in with the policy of docs/sessions.md"
        )


def user_of(resolved: Resolved, asked: str | None, local: str) -> str:
    """Return as whom ssh comes; raises AwsUnavailable for somebody whom no node knows.

    People of a directory are not known here: whoever is asked for is taken then.
    """
    names = [known.user.name for known in resolved.access.users]
    wanted = asked or local
    if wanted in names or (asked and resolved.access.directory):
        return wanted
    if not names and not resolved.access.directory:
        raise AwsUnavailable(f"{resolved.name} has no users: write access.users, and deploy that")
    listed = f"its users are {', '.join(names)}" if names else "name one of its directory"
    guess = did_you_mean(wanted, names) or listed
    raise AwsUnavailable(f"{resolved.name} has no user {wanted}; {guess} (--user)")


def hosts_of(resolved: Resolved, cluster_id: str, nodes: Sequence[Node]) -> tuple[SshHost, ...]:
    """Return the running nodes of all groups, numbered group by group in the order of names."""
    running = [node for node in nodes if node.status == "Running"]
    return tuple(
        _host(resolved, cluster_id, node, number)
        for _, members in groupby(running, key=lambda node: node.group)
        for number, node in enumerate(members, start=1)
    )


def _host(resolved: Resolved, cluster_id: str, node: Node, number: int) -> SshHost:
    group = f"{resolved.name}-{node.group}"
    return SshHost(
        aliases=(*((group,) if number == 1 else ()), f"{group}-{number}"),
        hostname=node.name,
        instance_id=node.instance_id,
        target=session_target(cluster_id, node.group, node.instance_id),
    )


def config_text(resolved: Resolved, hosts: Sequence[SshHost], user: str) -> str:
    """Return a configuration file of ssh (ssh_config(5)).

    The name of a host's key is that of its instance: one that takes the place of another has a key
    of its own, and ssh does not take it for an attack.
    """
    head = f"# Made by `slurmpod ssh-config`; make it again when nodes of {resolved.name} change.\n"
    return head + "".join(line for host in hosts for line in _lines(resolved, host, user))


def _lines(resolved: Resolved, host: SshHost, user: str) -> Iterator[str]:
    proxy = ("aws", "ssm", "start-session", "--region", resolved.region, "--target", host.target)
    with_port = ("--document-name", DOCUMENT, "--parameters", "portNumber=%p")
    yield f"\nHost {' '.join(host.aliases)}\n"
    for name, value in (
        ("HostName", host.hostname),
        ("User", user),
        ("HostKeyAlias", host.instance_id),
        ("UserKnownHostsFile", f"~/.ssh/{FOLDER}/{resolved.name}.known_hosts"),
        ("StrictHostKeyChecking", "accept-new"),
        ("ServerAliveInterval", "60"),
        ("ProxyCommand", " ".join([shlex.join(proxy), *with_port])),
    ):
        yield f"    {name} {value}\n"


def write_config(folder: Path, name: str, text: str) -> Path:
    """Write the file of an environment below the folder of ssh, for its owner alone."""
    file = folder / FOLDER / f"{name}.conf"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=0o600)
    write_whole(file, text)
    return file


def is_included(folder: Path) -> bool:
    """Return whether the user's own configuration includes ours, before any host of its own."""
    config = folder / "config"
    if not config.exists():
        return False
    for line in config.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if words[:1] and words[0].lower() in ("host", "match"):
            return False
        if line.strip() == INCLUDE:
            return True
    return False


def include(folder: Path) -> None:
    """Let the user's own configuration include ours: at its beginning, for all hosts."""
    config = folder / "config"
    before = config.read_text(encoding="utf-8") if config.exists() else ""
    config.touch(mode=0o600)
    write_whole(config, f"{INCLUDE}\n{before}")
