"""The database server outside the cluster: who connects, which only the secret knows."""

from __future__ import annotations

from dataclasses import dataclass, field

from slurmpod_lifecycle.failures import StepFailed
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import Database
from slurmpod_lifecycle.stored_secret import stored_secret

MEND = "store the user as 'username' and the password as 'password', without quotes in either"


@dataclass(frozen=True)
class Credentials:
    """A database user and the password, which shows up nowhere by accident."""

    user: str
    password: str = field(repr=False)


def credentials(machine: Machine, database: Database) -> Credentials:
    """Ask Secrets Manager; raises CommandFailed when it does not answer.

    Raises StepFailed for a secret that holds no password, or one that Slurm cannot be given.
    """
    secret = stored_secret(machine, database.secret_arn, MEND)
    found = Credentials(secret.get("username", database.default_user), secret["password"])
    if not all(isinstance(value, str) and _can_be_written(value) for value in _values(found)):
        reason = f"the secret {database.secret_arn} has a character that Slurm cannot read"
        raise StepFailed(reason, MEND)
    return found


def account_lines(found: Credentials) -> str:
    """Return the lines of slurmdbd.conf that say who connects to the database."""
    return f"StorageUser={quoted(found.user)}\nStoragePass={quoted(found.password)}\n"


def quoted(value: str) -> str:
    """Write text as a value of a Slurm configuration file, where # would begin a comment."""
    escaped = value.replace("\\", "\\\\").replace("#", "\\#")
    return f'"{escaped}"'


def _values(found: Credentials) -> tuple[object, object]:
    return found.user, found.password


def _can_be_written(value: str) -> bool:
    return bool(value) and value.isprintable() and '"' not in value
