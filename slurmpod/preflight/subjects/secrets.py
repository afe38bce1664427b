"""Existing secrets, and the names of their entries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import denied_into, suppressed
from slurmpod.preflight import names
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

SECRETS_GUIDE = "https://docs.aws.amazon.com/secretsmanager/latest/userguide/"


@dataclass(frozen=True)
class Secret:
    """A secret: the names of its entries, never their values; None without access."""

    is_deleted: bool
    entries: tuple[str, ...] | None
    refused: tuple[str, ...] = ()


def _secrets(clients: AwsClients, resolved: Resolved) -> dict[str, Secret | None]:
    opened = names.passwords(resolved)
    return {
        arn: _secret(clients.secrets_manager, arn, is_opened=arn in opened)
        for arn in names.secrets(resolved)
    }


def _secret(manager: Any, arn: str, *, is_opened: bool) -> Secret | None:
    """Return the facts about a secret; secrets of jobs are not read."""
    with suppressed("ResourceNotFoundException"):
        found = manager.describe_secret(SecretId=arn)
        if "DeletedDate" in found:
            return Secret(is_deleted=True, entries=None)
        refused: list[str] = []
        entries = _entries(manager, arn, refused) if is_opened else None
        return Secret(False, entries, tuple(refused))
    return None


def _entries(manager: Any, arn: str, refused: list[str]) -> tuple[str, ...] | None:
    """Return the names of a secret's entries; its values are discarded."""
    with denied_into(refused, "secretsmanager:GetSecretValue"):
        try:
            content = json.loads(_value(manager, arn))
        except ValueError:
            return ()
        return tuple(sorted(content)) if isinstance(content, dict) else ()
    return None


def _value(manager: Any, arn: str) -> str:
    """Return the text of an existing secret; empty if it has no value."""
    with suppressed("ResourceNotFoundException"):
        return str(manager.get_secret_value(SecretId=arn).get("SecretString", ""))
    return ""


SECRETS = Question(
    "secrets",
    "secrets",
    ("secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"),
    ("secrets_manager",),
    _secrets,
    named=names.secrets,
)


@PREFLIGHT.rule(
    "PRE-421",
    "Secrets exist",
    why="Nodes read them during setup; without them slurmdbd, or the directory, has no "
    "password. A job that asks for a missing one ends at once.",
    fix="correct the ARN (aws secretsmanager list-secrets), or restore the secret",
    source=f"{SECRETS_GUIDE}manage_delete-secret.html",
)
def _secrets_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    found = facts[SECRETS] or {}
    for arn, path in names.secrets(resolved).items():
        secret = found.get(arn)
        if arn in found and secret is None:
            yield Finding(path, "there is no such secret")
        elif secret and secret.is_deleted:
            yield Finding(path, "the secret is about to be deleted")


@PREFLIGHT.rule(
    "PRE-422",
    "Secrets have a password",
    why="Nodes read the secret as JSON and use its entry 'password'; a database's secret has "
    "'username', too.",
    fix='store {"username": ..., "password": ...} as JSON in the secret',
    source="lifecycle_scripts/slurmpod_lifecycle/stored_secret.py",
)
def _secrets_have_entries(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for arn, path in names.passwords(resolved).items():
        secret = (facts[SECRETS] or {}).get(arn)
        if secret and secret.entries is not None and "password" not in secret.entries:
            has = ", ".join(secret.entries) or "no JSON"
            yield Finding(path, f"the secret has no entry 'password': it has {has}")


QUESTIONS = (SECRETS,)
