"""The programs behind SSH between nodes: one pair of keys for a user, and every node's host key.

The pair is made once, wherever a node comes first, as homes are. Host keys lie in one file per
node, which a replaced node writes anew: ssh asks for them at every connection (ssh_config(5),
KnownHostsCommand, since OpenSSH 8.5), so that no list of them can be out of date.
"""

from __future__ import annotations

import shlex

PAIR_PROGRAM = "/usr/local/sbin/slurmpod-ssh-pair"
PAIR_TEXT = """\
#!/bin/sh
# Written by slurmpod's lifecycle scripts: makes a user's pair of keys, unless there is one.
set -eu
folder=$1 temporary=$2 user=$3 parent=${1%/*}
umask 022
mkdir -p -- "$parent"
owner=$(stat -c %u -- "$parent")
[ "$owner" = "$(id -u)" ] || { echo "$parent belongs to somebody else" >&2; exit 1; }
[ ! -d "$folder" ] || exit 0
umask 077
trap 'rm -rf -- "$temporary"' EXIT
rm -rf -- "$temporary"
mkdir -- "$temporary"
ssh-keygen -q -t ed25519 -N '' -C "$user" -f "$temporary/id_ed25519"
chown -R -- "$user:" "$temporary"
mv --no-target-directory -- "$temporary" "$folder" || [ -d "$folder" ]
"""
"""It ends well, too, when another node was faster.

Where users may write to the top of the file system, the folder could be one of theirs, and whoever
has its keys would be the image's user everywhere.
"""

KEY_PROGRAM = "/usr/local/sbin/slurmpod-ssh-key"
KEY_TEXT = """\
#!/bin/sh
# Written by slurmpod's lifecycle scripts; runs as the user: gives the home the pair of keys.
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
"""The lock is for homes that nodes share; a key that is in the home already stays."""

HOSTS_PROGRAM = "/usr/local/bin/slurmpod-known-hosts"

SSH_CONF = "/etc/ssh/ssh_config.d/10-slurmpod.conf"
SSH_TEXT = f"""\
# Written by slurmpod's lifecycle scripts.
IgnoreUnknown KnownHostsCommand
KnownHostsCommand {HOSTS_PROGRAM} %H
"""


def hosts_program(folder: str) -> str:
    """Return the program that prints the host keys of a node; nothing for any other host."""
    return f"""\
#!/bin/sh
# Written by slurmpod's lifecycle scripts: ssh asks it for the host keys of a node.
case $1 in
    ip-*) name=${{1%%.*}} ;;
    *) name=$1 ;;
esac
timeout 5 cat -- {shlex.quote(folder)}/"${{name##*/}}" 2>/dev/null || :
"""


def host_lines(name: str, address: str, keys: list[str]) -> str:
    """Return a node's host keys as ssh takes them: by its names and by its address."""
    lines = (key.split()[:2] for key in keys)
    return "".join(f"{name},{name}.*,{address} {kind} {key}\n" for kind, key in lines)
