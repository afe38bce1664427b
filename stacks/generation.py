"""A name for what other stacks refer to, as it is now."""

from __future__ import annotations

import hashlib
import json

from aws_cdk import Stack

from slurmpod.changes.replacements import what_replaces
from slurmpod.resolve import Resolved

DIGEST_LENGTH = 12


def generation(resolved: Resolved) -> str:
    """Return another name whenever a file system or the workspace for metrics may be replaced."""
    described = json.dumps(what_replaces(resolved), sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()[:DIGEST_LENGTH]


def deploy_again_with_each(stack: Stack, resolved: Resolved) -> None:
    """Let `stack` be deployed whenever something that it refers to may be another one.

    References between stacks stay the same text when what they stand for is replaced, and the CDK
    passes over a stack whose template is the same: alarms would watch a file system that nobody
    uses any more, and roles let nodes write to a workspace that nobody reads.
    """
    stack.add_metadata("generation", generation(resolved))
