"""Callers of requests: their user or role with its policies.

A key id and its session token suffice to be trusted. Sources: "Policies and permissions in IAM"
(kinds of policies) and "AWS global condition context keys" of the IAM user guide.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

from embedded_aws.calls import Signature
from embedded_aws.errors import ServiceError
from embedded_aws.iam import Policy, Principal, policy_of

BOUNDARY = "permissions boundary"
SESSION_POLICY = "session policy"


class UnknownCredentials(Exception):
    """No user and no session has this key, or the session has another token."""


@dataclass(frozen=True)
class Identity:
    """A caller: `policies` grant, each of `limits` restricts, `context` has the caller's keys."""

    principal: Principal
    policies: tuple[Policy, ...]
    limits: Mapping[str, tuple[Policy, ...]]
    context: Mapping[str, str]


class Identities:
    """The users and sessions of one account of the embedded AWS."""

    def __init__(self, account: str, partition: str) -> None:
        self._account = account
        self._partition = partition

    def find(self, signature: Signature) -> Identity:
        """Return the owner of the credentials; raises UnknownCredentials."""
        sessions = sts_backends[self._account][self._partition].assumed_roles
        for session in list(sessions):
            if session.access_key_id == signature.access_key_id:
                if session.session_token != signature.token:
                    break
                return self._of_session(session)
        for user in list(self._iam.users.values()):
            if any(key.access_key_id == signature.access_key_id for key in user.access_keys):
                return self._of_user(user)
        raise UnknownCredentials(signature.access_key_id)

    def named(self, arn: str) -> Identity:
        """Return the user, group or role with an ARN; raises ServiceError (NoSuchEntity)."""
        for user in list(self._iam.users.values()):
            if user.arn == arn:
                return self._of_user(user)
        for holder in (*self._iam.roles.values(), *self._iam.groups.values()):
            if holder.arn == arn:
                return self._of_holder(holder)
        raise ServiceError("NoSuchEntity", f"The entity with ARN {arn} cannot be found.")

    @property
    def _iam(self) -> Any:
        return iam_backends[self._account][self._partition]

    def _of_session(self, session: Any) -> Identity:
        """Return a role's session; if the role is deleted, it has no policies, as in AWS."""
        roles = list(self._iam.roles.values())
        role = next((role for role in roles if role.arn == session.role_arn), None)
        limits = dict(self._boundary(role.permissions_boundary_arn)) if role else {}
        if session.policy:
            limits[SESSION_POLICY] = (_parsed("of the session", session.policy),)
        return Identity(
            Principal(arn=session.arn, role_arn=session.role_arn),
            tuple(_policies(role)) if role else (),
            limits,
            {
                "aws:PrincipalAccount": self._account,
                "aws:PrincipalArn": session.role_arn,
                "aws:PrincipalType": "AssumedRole",
                "aws:userid": session.user_id,
                **_tags(role.tags if role else ()),
            },
        )

    def _of_holder(self, holder: Any) -> Identity:
        """Return the identity of a role's sessions, or of every user in a group."""
        limits = dict(self._boundary(getattr(holder, "permissions_boundary_arn", None)))
        context = {"aws:PrincipalAccount": self._account, "aws:PrincipalArn": str(holder.arn)}
        return Identity(
            Principal(arn=holder.arn, role_arn=holder.arn),
            tuple(_policies(holder)),
            limits,
            {**context, **_tags(getattr(holder, "tags", None) or ())},
        )

    def _of_user(self, user: Any) -> Identity:
        groups = self._iam.get_groups_for_user(user.name)
        policies = [policy for holder in (user, *groups) for policy in _policies(holder)]
        arn = str(user.arn)
        return Identity(
            Principal(arn=arn),
            tuple(policies),
            dict(self._boundary(user.permissions_boundary_arn)),
            {
                "aws:PrincipalAccount": self._account,
                "aws:PrincipalArn": arn,
                "aws:PrincipalType": "User",
                "aws:userid": str(user.id),
                "aws:username": str(user.name),
                **_tags(self._iam.list_user_tags(user.name)),
            },
        )

    def _boundary(self, arn: str | None) -> Iterator[tuple[str, tuple[Policy, ...]]]:
        if arn:
            yield BOUNDARY, (_managed(self._iam.get_policy(arn)),)


def _policies(holder: Any) -> Iterator[Policy]:
    """Yield the policies embedded in, and attached to, a user, group or role."""
    for name, text in list(holder.policies.items()):
        yield _parsed(name, text)
    for policy in list(holder.managed_policies.values()):
        yield _managed(policy)


def _managed(policy: Any) -> Policy:
    versions = {version.version_id: version.document for version in policy.versions}
    return _parsed(policy.name, versions[policy.default_version_id])


@lru_cache(maxsize=512)
def _parsed(name: str, text: str) -> Policy:
    return policy_of(name, json.loads(text))


def _tags(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {f"aws:PrincipalTag/{tag['Key']}": tag["Value"] for tag in tags}
