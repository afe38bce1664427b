"""Job records of a database on the controller, kept in the bucket: saved by a timer, and restored.

A controller that is made anew has an empty database. What was saved last is loaded before slurmdbd
starts for the first time, so that slurmdbd finds it as it would find its own.
"""

from __future__ import annotations

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import RecordsBackup
from slurmpod_lifecycle.timers import TimedProgram

DATABASE = "slurm_acct_db"
UNIT = "slurmpod-records-backup"
RESTORING = "/var/lib/slurmpod/restoring-records"
"""Is there while records are being loaded: half of them are as good as none."""

LOAD_SECONDS = 3600
MAY_READ = "check that the execution role of the controller may read the bucket"

_SAVE = """\
#!/bin/bash
# Written by slurmpod's lifecycle scripts.
set -euo pipefail
umask 077
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
mariadb-dump --single-transaction --quick {database} | gzip > "$folder/records.sql.gz"
aws s3 cp --only-show-errors --region {region} "$folder/records.sql.gz" {uri}
"""

_LIST_TABLES = f"SHOW TABLES IN {DATABASE}"
_JOBS = "_job_table"
"""How the name of the table of a cluster's jobs ends; it begins with the cluster's."""
_LAST_JOB = f"SELECT COALESCE(MAX(id_job), 0) FROM {DATABASE}.`{{}}`"  # noqa: S608  # its own names
_ANEW = f"DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE};"
_LOAD = (
    'set -euo pipefail; aws s3 cp --only-show-errors --region "$1" "$2" - | gunzip | mariadb "$3"'
)


def program(backup: RecordsBackup, region: str) -> TimedProgram:
    """Return what saves the records: whole, as of one moment, and over those saved before."""
    text = _SAVE.format(database=DATABASE, region=region, uri=backup.uri)
    path = f"/usr/local/lib/{UNIT}.sh"
    return TimedProgram(UNIT, path, text, "bash", backup.interval_minutes * 60)


def restore(machine: Machine, backup: RecordsBackup, region: str) -> bool:
    """Load the records that were saved last into an empty database; tell whether there were any.

    A database with records is left alone. Raises CommandFailed where the bucket does not answer: an
    empty database would be saved over the good one.
    """
    if machine.read(RESTORING) is None and _tables(machine):
        return False
    if not _is_there(machine, backup, region):
        return False
    machine.write(RESTORING, f"{backup.uri}\n")
    machine.run("mariadb", text=_ANEW)
    command = ("bash", "-c", _LOAD, "-", region, backup.uri, DATABASE)
    machine.run(*command, fix=MAY_READ, timeout_seconds=LOAD_SECONDS)
    machine.run("rm", "-f", RESTORING)
    return True


def last_job(machine: Machine) -> int:
    """Return the highest number of a job in the database on this node; 0 where it has none."""
    tables = [each for each in _tables(machine) if each.endswith(_JOBS)]
    return max((int(_asked(machine, _LAST_JOB.format(table))) for table in tables), default=0)


def _tables(machine: Machine) -> list[str]:
    return _asked(machine, _LIST_TABLES).split()


def _asked(machine: Machine, statement: str) -> str:
    return machine.run("mariadb", "--batch", "--skip-column-names", "--execute", statement)


def _is_there(machine: Machine, backup: RecordsBackup, region: str) -> bool:
    """Ask by a list: for an object that is not there S3 has the same answer as for a refusal."""
    bucket, _, key = backup.uri.removeprefix("s3://").partition("/")
    which = ("--bucket", bucket, "--prefix", key, "--region", region)
    listed = ("--query", "length(Contents || `[]`)", "--output", "text")
    command = ("aws", "s3api", "list-objects-v2", *which, *listed)
    return machine.run(*command, fix=MAY_READ).strip() not in ("", "0")
