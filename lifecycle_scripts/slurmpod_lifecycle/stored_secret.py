"""A secret in Secrets Manager, read on the node with its own role when it is needed.

It is in no file of the bundle and in no log. HyperPod's image has the AWS CLI, which signs the
request.
"""

from __future__ import annotations

import json
from typing import Any

from slurmpod_lifecycle.failures import StepFailed
from slurmpod_lifecycle.machine import Machine

MAY_READ = "check that the secret exists and that the execution role may read it"


def stored_secret(machine: Machine, arn: str, mend: str) -> dict[str, Any]:
    """Ask Secrets Manager for a secret with a password; raises CommandFailed without an answer.

    Raises StepFailed, with `mend` as its fix, for one that is no JSON object with a `password`.
    """
    command = ("aws", "secretsmanager", "get-secret-value", "--region", arn.split(":")[3])
    which = ("--secret-id", arn, "--query", "SecretString", "--output", "text")
    answer = machine.run(*command, *which, fix=MAY_READ)
    try:
        secret = json.loads(answer)
    except ValueError:
        secret = None
    if not isinstance(secret, dict) or "password" not in secret:
        raise StepFailed(f"the secret {arn} has no password", mend)
    return secret
