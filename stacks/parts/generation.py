"""A name for what other stacks refer to, as it is now."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_cdk import Stack

    from slurmpod.resolve import Resolved

DIGEST_LENGTH = 12


def generation(resolved: Resolved) -> str:
    """Return another name whenever a file system or the workspace for metrics may be replaced."""
    environment = resolved.environment
    described = environment.storage.model_dump_json() + environment.network.model_dump_json()
    prometheus = resolved.monitoring and resolved.monitoring.prometheus
    if prometheus and prometheus.kms_key_arn:
        described += prometheus.kms_key_arn
    return hashlib.sha256(described.encode()).hexdigest()[:DIGEST_LENGTH]


def deploy_again_with_each(stack: Stack, resolved: Resolved) -> None:
    """Let `stack` be deployed whenever something that it refers to may be another one.

    References between stacks stay the same text when what they stand for is replaced, and the CDK
    passes over a stack whose template is the same: alarms would watch a file system that nobody
    uses any more, and roles let nodes write to a workspace that nobody reads.
    """
    stack.add_metadata("generation", generation(resolved))
