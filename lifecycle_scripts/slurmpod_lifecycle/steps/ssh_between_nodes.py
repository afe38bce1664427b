"""SSH from node to node for the image's user, without questions about host keys.

It needs a folder that all nodes share and root can write to. Without one, nodes cannot exchange
their keys: then this is not possible, and the node's report says so.

The key pair is created once, by whichever node is first, as homes are. Host keys are in one file
per node, which a replaced node writes again: ssh reads them at every connection (ssh_config(5),
KnownHostsCommand, since OpenSSH 8.5), so that no list of them can be out of date.
"""

from __future__ import annotations

import shlex

from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.steps.user_folder import USER

PAIR_PROGRAM = "/usr/local/sbin/slurmpod-ssh-pair"
PAIR_TEXT = """\
#!/bin/sh
# Written by slurmpod's lifecycle scripts: creates a user's key pair, unless it exists.
set -eu
folder=$1 temporary=$2 user=$3 parent=${1%/*}
umask 022
mkdir -p -- "$parent"
owner=$(stat -c %u -- "$parent")
[ "$owner" = "$(id -u)" ] || { echo "$parent belongs to another user" >&2; exit 1; }
[ ! -d "$folder" ] || exit 0
umask 077
trap 'rm -rf -- "$temporary"' EXIT
rm -rf -- "$temporary"
mkdir -- "$temporary"
ssh-keygen -q -t ed25519 -N '' -C "$user" -f "$temporary/id_ed25519"
chown -R -- "$user:" "$temporary"
mv --no-target-directory -- "$temporary" "$folder" || [ -d "$folder" ]
"""
"""It succeeds, too, if another node was faster.

If users may write to the top of the file system, the folder could belong to one of them, who would
then hold the keys of the image's user on all nodes.
"""

KEY_PROGRAM = "/usr/local/sbin/slurmpod-ssh-key"
KEY_TEXT = """\
#!/bin/sh
# Written by slurmpod's lifecycle scripts; runs as the user: copies the key pair to the home.
set -eu
umask 077
pair=$1 home=$2
mkdir -p -- "$home/.ssh"
exec 9>>"$home/.ssh/authorized_keys"
flock 9
if [ ! -e "$home/.ssh/id_ed25519" ]; then
    cp -- "$pair/id_ed25519.pub" "$pair/id_ed25519" "$home/.ssh/"
fi
key=$(cat -- "$pair/id_ed25519.pub")
grep -qxF -- "$key" "$home/.ssh/authorized_keys" || printf '%s\\n' "$key" >&9
"""
"""The lock is for homes that nodes share; an existing key in the home stays."""

HOSTS_PROGRAM = "/usr/local/bin/slurmpod-known-hosts"

SSH_CONF = "/etc/ssh/ssh_config.d/10-slurmpod.conf"
SSH_TEXT = f"""\
# Written by slurmpod's lifecycle scripts.
IgnoreUnknown KnownHostsCommand
KnownHostsCommand {HOSTS_PROGRAM} %H
"""

HOST_KEYS = tuple(f"/etc/ssh/ssh_host_{kind}_key.pub" for kind in ("ed25519", "ecdsa", "rsa"))
FIX = (
    "let the environment make a file system without root squash, or set access.ssh_between_nodes to"
    " false"
)


def hosts_program(folder: str) -> str:
    """Return the program that prints the host keys of a node, or nothing for any other host."""
    return f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts: prints a node's host keys for ssh.
case $1 in
    ip-*) name=${{1%%.*}} ;;
    *) name=$1 ;;
esac
timeout 5 cat -- {shlex.quote(folder)}/"${{name##*/}}" 2>/dev/null || :
"""


def host_lines(name: str, address: str, keys: list[str]) -> str:
    """Return a node's host keys in ssh's format: by its names and by its address."""
    lines = (key.split()[:2] for key in keys)
    return "".join(f"{name},{name}.*,{address} {kind} {key}\n" for kind, key in lines)


class SshBetweenNodes(NodeStep):
    """The user has the key pair on this node, and the other nodes know this one."""

    name = "ssh_between_nodes"
    roles = frozenset(Role)
    needs = ("mount_fsx",)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables it."""
        return super().applies_to(node) and node.settings.node.ssh_between_nodes

    def is_done(self) -> bool:
        """Return whether all files are up to date; root may not be able to read the home."""
        machine, ssh = self.node.machine, f"{self._home()}/.ssh"
        files = {**self._files(), **self._published()}
        if not all(machine.read(path) == text for path, text in files.items()):
            return False
        key = (machine.read(f"{self._pair()}/id_ed25519.pub") or "").strip()
        is_known = key and machine.succeeds("grep", "-qxF", "--", key, f"{ssh}/authorized_keys")
        return bool(is_known) and machine.succeeds("test", "-e", f"{ssh}/id_ed25519")

    def apply(self) -> str:
        """Create the key pair if no node has, install it, and publish this node's host keys."""
        machine, pair = self.node.machine, self._pair()
        for path, text in self._files().items():
            machine.write(path, text, mode=0o644 if path == SSH_CONF else 0o755)
        machine.run(PAIR_PROGRAM, pair, f"{pair}.{self.node.name}", USER, fix=FIX)
        machine.run("runuser", "-u", USER, "--", KEY_PROGRAM, pair, self._home())
        machine.run("ssh-keygen", "-A")
        for path, text in self._published().items():
            machine.run("mkdir", "-p", self._hosts())
            machine.write(path, text)
        return f"{USER} goes from node to node; host keys are in {self._hosts()}"

    def _files(self) -> dict[str, str]:
        """Return the programs and ssh's configuration, by path."""
        return {
            PAIR_PROGRAM: PAIR_TEXT,
            KEY_PROGRAM: KEY_TEXT,
            HOSTS_PROGRAM: hosts_program(self._hosts()),
            SSH_CONF: SSH_TEXT,
        }

    def _published(self) -> dict[str, str]:
        """Return this node's host keys as other nodes look them up: by its name and its address."""
        name, address = self.node.name, self.node.instance.address
        keys = [key for path in HOST_KEYS if (key := self.node.machine.read(path))]
        text = host_lines(name, address, keys)
        return {f"{self._hosts()}/{each}": text for each in (name, address)}

    def _home(self) -> str:
        return self.node.machine.run("getent", "passwd", USER).split(":")[5]

    def _pair(self) -> str:
        return f"{self._folder()}/{USER}"

    def _hosts(self) -> str:
        return f"{self._folder()}/hosts"

    def _folder(self) -> str:
        """Return this cluster's folder for SSH; raises StepFailed without shared storage."""
        settings = self.node.settings
        shared = [each.mount_path for each in settings.file_systems if each.root_writes]
        if not shared:
            raise StepFailed("no file system is shared by all nodes and writable for root", FIX)
        return f"{shared[0]}/slurmpod/{settings.cluster_name}/ssh"
