"""A name for the current generation of the resources that other stacks refer to."""

from __future__ import annotations

import hashlib
import json

from aws_cdk import Stack

from slurmpod.changes.replacements import what_replaces
from slurmpod.resolve import Resolved

DIGEST_LENGTH = 12


def generation(resolved: Resolved) -> str:
    """Return a name that changes whenever a file system or the workspace may be replaced."""
    described = json.dumps(what_replaces(resolved), sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()[:DIGEST_LENGTH]


def deploy_again_with_each(stack: Stack, resolved: Resolved) -> None:
    """Make the CDK deploy `stack` whenever a resource that it refers to may have been replaced.

    References between stacks keep their text when the resource is replaced, and the CDK skips a
    stack with an unchanged template: alarms would watch an unused file system, and roles would let
    nodes write to an unused workspace.
    """
    stack.add_metadata("generation", generation(resolved))
