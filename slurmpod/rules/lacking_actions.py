"""Permissions missing from the user's own policies, for the messages of rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from slurmpod.permissions import Grant, expected_scope, grants, node_roles
from slurmpod.problems import first_of
from slurmpod.resolve import Resolved

if TYPE_CHECKING:  # it evaluates policies, which most environments do not need
    from slurmpod.permissions.sufficiency import Lack

SHOWN = 3


def needed_by_nodes(resolved: Resolved) -> Iterable[Grant]:
    """Return the permissions that the roles of all nodes need, without duplicates."""
    return {
        (grant.sid, grant.target.resources): grant
        for roles in node_roles(resolved).values()
        for grant in grants(expected_scope(resolved, roles))
    }.values()


def lacking_actions(
    needed: Iterable[Grant], files: Sequence[str], resolved: Resolved
) -> Iterator[str]:
    """Yield one message with all missing permissions, as one change of the policies fixes them.

    Yield nothing if a policy cannot be read, which another rule reports.
    """
    documents = resolved.policies
    if not files or any(file not in documents for file in files):
        return
    from embedded_aws.iam import policy_of  # only needed where policies are named
    from slurmpod.permissions.sufficiency import lacking

    policies = [policy_of(file, documents[file]) for file in files]
    if lacks := tuple(lacking(needed, policies, resolved)):
        yield _described(*lacks)


def _described(first: Lack, *others: Lack) -> str:
    """Return the missing permissions, with the reason and the caller of the first."""
    permission = first.grant.permission
    message = f"{_action(first)} is missing: {permission.needed_by} ({first.because})"
    if not others:
        return message
    named = first_of([_action(each) for each in others], SHOWN)
    return f"{message}; {len(others)} more {'is' if len(others) == 1 else 'are'} missing: {named}"


def _action(lack: Lack) -> str:
    resources = [each.rpartition(":::")[2] for each in lack.resources]
    return f"{lack.action} on {first_of(resources, SHOWN)}"
