"""Job records of a database on the controller, kept in the bucket: saved by a timer, and restored.

A replaced controller has an empty database. The last backup is loaded before slurmdbd starts for
the first time, so that slurmdbd finds it as if it were its own.
"""

from __future__ import annotations

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import RecordsBackup
from slurmpod_lifecycle.timers import TimedProgram

DATABASE = "slurm_acct_db"
UNIT = "slurmpod-records-backup"
RESTORING = "/var/lib/slurmpod/restoring-records"
"""A marker that exists while records are being loaded: a partial load does not count."""

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
"""The suffix of the name of a cluster's job table, after the cluster's name."""
_LAST_JOB = f"SELECT COALESCE(MAX(id_job), 0) FROM {DATABASE}.`{{}}`"  # noqa: S608  # fixed names
_ANEW = f"DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE};"
_LOAD = (
    'set -euo pipefail; aws s3 cp --only-show-errors --region "$1" "$2" - | gunzip | mariadb "$3"'
)


def program(backup: RecordsBackup, region: str) -> TimedProgram:
    """Return the program that saves all records, as of one moment, over those saved before."""
    text = _SAVE.format(database=DATABASE, region=region, uri=backup.uri)
    path = f"/usr/local/lib/{UNIT}.sh"
    return TimedProgram(UNIT, path, text, "bash", backup.interval_minutes * 60)


def restore(machine: Machine, backup: RecordsBackup, region: str) -> bool:
    """Load the last backup into an empty database; return whether there was one.

    A database with records is left alone. Raises CommandFailed if the bucket does not answer:
    otherwise an empty database would be saved over the good backup.
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
    """Return the highest job number in this node's database, or 0 if it has no jobs."""
    tables = [each for each in _tables(machine) if each.endswith(_JOBS)]
    return max((int(_asked(machine, _LAST_JOB.format(table))) for table in tables), default=0)


def _tables(machine: Machine) -> list[str]:
    return _asked(machine, _LIST_TABLES).split()


def _asked(machine: Machine, statement: str) -> str:
    return machine.run("mariadb", "--batch", "--skip-column-names", "--execute", statement)


def _is_there(machine: Machine, backup: RecordsBackup, region: str) -> bool:
    """Check by listing: for a missing object S3 gives the same answer as for denied access."""
    bucket, _, key = backup.uri.removeprefix("s3://").partition("/")
    which = ("--bucket", bucket, "--prefix", key, "--region", region)
    listed = ("--query", "length(Contents || `[]`)", "--output", "text")
    command = ("aws", "s3api", "list-objects-v2", *which, *listed)
    return machine.run(*command, fix=MAY_READ).strip() not in ("", "0")
