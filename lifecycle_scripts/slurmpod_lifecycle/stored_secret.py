"""Secrets in Secrets Manager, read on the node with its own role when they are needed.

They are in no file of the bundle and in no log. HyperPod's image has the AWS CLI, which signs the
request. The user for an outside database server is known only from such a secret.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import Database
from slurmpod_lifecycle.step import StepFailed

MAY_READ = "check that the secret exists and that the execution role may read it"


def stored_secret(machine: Machine, arn: str, fix: str) -> dict[str, Any]:
    """Ask Secrets Manager for a secret with a password; raises CommandFailed without an answer.

    Raises StepFailed, with `fix` as its fix, for one that is no JSON object with a `password`.
    """
    command = ("aws", "secretsmanager", "get-secret-value", "--region", arn.split(":")[3])
    which = ("--secret-id", arn, "--query", "SecretString", "--output", "text")
    answer = machine.run(*command, *which, fix=MAY_READ)
    try:
        secret = json.loads(answer)
    except ValueError:
        secret = None
    if not isinstance(secret, dict) or "password" not in secret:
        raise StepFailed(f"the secret {arn} has no password", fix)
    return secret


FIX = "store the user as 'username' and the password as 'password', without quotes in either"


@dataclass(frozen=True)
class Credentials:
    """A database user and the password, whose repr hides it."""

    user: str
    password: str = field(repr=False)


def credentials(machine: Machine, database: Database) -> Credentials:
    """Read the secret; raises CommandFailed if Secrets Manager does not answer.

    Raises StepFailed for a secret without a password, or with one that Slurm cannot read.
    """
    secret = stored_secret(machine, database.secret_arn, FIX)
    found = Credentials(secret.get("username", database.default_user), secret["password"])
    if not all(isinstance(value, str) and _can_be_written(value) for value in _values(found)):
        reason = f"the secret {database.secret_arn} has a character that Slurm cannot read"
        raise StepFailed(reason, FIX)
    return found


def account_lines(found: Credentials) -> str:
    """Return the lines of slurmdbd.conf with the database login."""
    return f"StorageUser={quoted(found.user)}\nStoragePass={quoted(found.password)}\n"


def quoted(value: str) -> str:
    """Format a value for a Slurm configuration file, where # would begin a comment."""
    escaped = value.replace("\\", "\\\\").replace("#", "\\#")
    return f'"{escaped}"'


def _values(found: Credentials) -> tuple[object, object]:
    return found.user, found.password


def _can_be_written(value: str) -> bool:
    return bool(value) and value.isprintable() and '"' not in value
