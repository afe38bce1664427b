"""The difference between an environment and its deployment, and how to confirm it.

A protected environment loses or replaces nothing until a user has confirmed exactly that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_core import to_json

from slurmpod.aws.clients import AwsClients, lookup_clients
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.changes.change import Change
from slurmpod.changes.compare import changes
from slurmpod.deployment_record import digest
from slurmpod.environment.base import Kind
from slurmpod.operations.deployed import Deployed, LiveEnvironment
from slurmpod.resolve import Resolved

DIGITS = 8
"""Length of the digest in a confirmation: enough to distinguish changes."""

UNSEEN = "unseen"
"""Takes the place of the digest if the deployment is unknown."""


@dataclass(frozen=True)
class Difference:
    """An environment, its deployment (None: nothing), and the changes between them."""

    wanted: Resolved
    deployed: Deployed | None
    changes: Sequence[Change]

    @property
    def is_unseen(self) -> bool:
        """Return whether a deployment exists, but its record is lost."""
        return self.deployed is not None and self.deployed.record is None

    @property
    def harmful(self) -> tuple[Change, ...]:
        """The changes that lose or replace something, or that AWS rejects."""
        return tuple(change for change in self.changes if not change.is_harmless)

    @property
    def is_refused_by_aws(self) -> bool:
        """Return whether AWS would fail the deployment."""
        return any(change.effect.kind is Kind.REFUSED for change in self.changes)

    @property
    def needs_confirmation(self) -> bool:
        """Return whether the environment is protected, and could lose something."""
        return self.wanted.protected and bool(self.harmful or self.is_unseen)

    @property
    def confirmation(self) -> str:
        """The confirmation of exactly these changes: the environment's name and a digest."""
        if self.is_unseen:
            return confirmation_unseen(self.wanted)
        changes = sorted(
            (each.path, to_json([each.old, each.new]).decode()) for each in self.harmful
        )
        return f"{self.wanted.name}:{digest(to_json(changes))[-DIGITS:]}"


def confirmation_unseen(resolved: Resolved) -> str:
    """Return the confirmation of a deployment with unknown changes."""
    return f"{resolved.name}:{UNSEEN}"


def compared_with_deployed(clients: AwsClients, wanted: Resolved) -> Difference:
    """Read an environment's deployed state from its account, and compare; raises AwsUnavailable."""
    deployed = LiveEnvironment(clients, wanted).environment()
    if deployed is None or deployed.record is None:
        return Difference(wanted, deployed, ())
    found = changes(deployed.record, wanted, has_cluster=deployed.has_cluster)
    return Difference(wanted, deployed, found)


def difference_seen_by_the_cdk(clients: AwsClients, wanted: Resolved) -> Difference:
    """Compare with the caller's permissions, or else with the CDK's lookup role.

    Frequent deployers often have only the roles from `cdk bootstrap`, or come from a pipeline
    account. Raises AwsUnavailable with the reason for the caller's failure.
    """
    try:
        return compared_with_deployed(clients, wanted)
    except AwsUnavailable as refused:
        try:
            return compared_with_deployed(lookup_clients(clients, wanted), wanted)
        except AwsUnavailable:
            raise refused from None
