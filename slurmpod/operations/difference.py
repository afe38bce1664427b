"""The difference between an environment and what of it is deployed, and how to confirm it.

A protected environment loses or replaces nothing before somebody has confirmed exactly that.
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
"""Of the digest in a confirmation: enough to tell one change from another."""

UNSEEN = "unseen"
"""In place of the digest where nobody can tell what is deployed."""


@dataclass(frozen=True)
class Difference:
    """An environment, what of it is deployed (None: nothing), and the changes between them."""

    wanted: Resolved
    deployed: Deployed | None
    changes: Sequence[Change]

    @property
    def is_unseen(self) -> bool:
        """Return whether something is deployed, and nobody remembers what."""
        return self.deployed is not None and self.deployed.record is None

    @property
    def harmful(self) -> tuple[Change, ...]:
        """The changes that lose or replace something, or that AWS refuses."""
        return tuple(change for change in self.changes if not change.is_harmless)

    @property
    def is_refused_by_aws(self) -> bool:
        """Return whether AWS would fail the deployment."""
        return any(change.effect.kind is Kind.REFUSED for change in self.changes)

    @property
    def needs_confirmation(self) -> bool:
        """Return whether the environment is protected, and something of it may be lost."""
        return self.wanted.protected and bool(self.harmful or self.is_unseen)

    @property
    def confirmation(self) -> str:
        """What confirms these changes, and no others: the environment's name and a digest."""
        if self.is_unseen:
            return confirmation_unseen(self.wanted)
        told = sorted((each.path, to_json([each.old, each.new]).decode()) for each in self.harmful)
        return f"{self.wanted.name}:{digest(to_json(told))[-DIGITS:]}"


def confirmation_unseen(resolved: Resolved) -> str:
    """Return what confirms a deployment where nobody can tell what it changes."""
    return f"{resolved.name}:{UNSEEN}"


def compared_with_deployed(clients: AwsClients, wanted: Resolved) -> Difference:
    """Ask the account of an environment what is deployed, and compare; raises AwsUnavailable."""
    deployed = LiveEnvironment(clients, wanted).environment()
    if deployed is None or deployed.record is None:
        return Difference(wanted, deployed, ())
    found = changes(deployed.record, wanted, has_cluster=deployed.has_cluster)
    return Difference(wanted, deployed, found)


def difference_seen_by_the_cdk(clients: AwsClients, wanted: Resolved) -> Difference:
    """Compare as others do, and where the caller may not ask, in the CDK's role for that.

    Those who deploy often have nothing but the roles that `cdk bootstrap` made, or come from an
    account of pipelines. Raises AwsUnavailable with what stood in the way of the caller.
    """
    try:
        return compared_with_deployed(clients, wanted)
    except AwsUnavailable as refused:
        try:
            return compared_with_deployed(lookup_clients(clients, wanted), wanted)
        except AwsUnavailable:
            raise refused from None
