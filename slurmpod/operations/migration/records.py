"""Moving job records from MariaDB on the controller to a database outside the cluster.

They are copied directly between the databases, on the controller, which reaches both. slurmdbd is
stopped from before the copy until HyperPod starts it with the other database: slurmctld queues
records meanwhile. Records that slurmdbd wrote after the copy would be left behind. slurmdbd must
find its records at its first start there: with others slurmctld does not accept its own cluster
(CLUSTER ID MISMATCH).
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from slurmpod.operations.questions import question
from slurmpod.operations.slurm_remote import RemoteSlurm
from slurmpod.resolve.database import DATABASE_NAME

COPY_SECONDS = 3600
MOVED = "moved"
MARK = "/var/lib/slurmpod/moving-records"
"""Exists from the first attempt to the verified end: the other database is then slurmpod's."""

LOGIN = (
    "import json, sys; secret = json.load(sys.stdin); host, port, user = sys.argv[1:]; "
    "quoted = lambda text: '\"' + text.replace('\\\\', '\\\\\\\\') + '\"'; "
    "print('[client]', 'host=' + host, 'port=' + port, "
    "'user=' + quoted(secret.get('username', user)), 'password=' + quoted(secret['password']), "
    "'loose-skip-ssl-verify-server-cert', sep='\\n')"
)
"""Writes the credentials file for MariaDB's programs: no password is in a command."""

_COPY = """\
set -euo pipefail
umask 077
if grep --quiet --ignore-case "^StorageHost=$host$" /opt/slurm/etc/slurmdbd.conf; then
    echo "slurmdbd uses $host already"
    exit
fi
folder=$(mktemp --directory)
moved=no
back() { rm -rf "$folder"; [ "$moved" = yes ] || systemctl start slurmdbd; }
trap back EXIT
aws secretsmanager get-secret-value --region "$(cut -d: -f4 <<<"$secret")" \\
    --secret-id "$secret" --query SecretString --output text |
    python3 -c "$login" "$host" "$port" "$user" >"$folder/client.cnf"
there() { mariadb --defaults-file="$folder/client.cnf" --batch --skip-column-names "$@"; }
here() { mariadb --batch --skip-column-names "$@"; }
rows() {
    local all=0 table
    for table in $("$1" --execute="SHOW TABLES" "$2"); do
        all=$((all + $("$1" --execute="SELECT COUNT(*) FROM \\`$table\\`" "$2")))
    done
    echo "$all"
}
there --execute="CREATE DATABASE IF NOT EXISTS \\`$name\\`"
if [ -n "$(there --execute='SHOW TABLES' "$name")" ]; then
    if [ "$(cat "$mark" 2>/dev/null)" != "$host $name" ]; then
        echo "the database $name on $host has tables already: name an empty one" >&2
        exit 1
    fi
    there --execute="DROP DATABASE \\`$name\\`; CREATE DATABASE \\`$name\\`"
fi
mkdir -p "$(dirname "$mark")"
echo "$host $name" >"$mark"
systemctl stop slurmdbd
mariadb-dump --single-transaction --quick "$local" |
    mariadb --defaults-file="$folder/client.cnf" "$name"
before=$(rows here "$local") after=$(rows there "$name")
if [ "$before" != "$after" ]; then
    echo "the copy has $after rows, and not $before" >&2
    exit 1
fi
moved=yes
echo "$after rows are copied"
"""


@dataclass(frozen=True)
class OtherDatabase:
    """The external database: its address, its name and its user."""

    endpoint: str
    port: int
    name: str
    secret_arn: str
    user: str


def copy_records(slurm: RemoteSlurm, other: OtherDatabase) -> str:
    """Copy all records and leave slurmdbd stopped; raises AwsUnavailable, with slurmdbd started."""
    return slurm.answers(copy_script(other), COPY_SECONDS)[MOVED].strip()


def go_on_here(slurm: RemoteSlurm) -> None:
    """Start slurmdbd with its configured database, after a failed move."""
    slurm.answers(question(MOVED, "systemctl start slurmdbd"))


def forget_the_copy(slurm: RemoteSlurm) -> None:
    """Remove the mark: from now on no retry may overwrite the other database."""
    slurm.answers(question(MOVED, f"rm -f {MARK}"))


def copy_script(other: OtherDatabase) -> str:
    """Return the script for root on the controller."""
    given = {
        "host": other.endpoint,
        "port": str(other.port),
        "name": other.name,
        "secret": other.secret_arn,
        "user": other.user,
        "local": DATABASE_NAME,
        "mark": MARK,
        "login": LOGIN,
    }
    values = "".join(f"{name}={shlex.quote(value)}\n" for name, value in given.items())
    return question(MOVED, f"bash -c {shlex.quote(values + _COPY)} 2>&1 || exit 1")
