"""Reading an account's roles and boundary, and checking whether they suffice."""

from __future__ import annotations

from slurmpod.aws.account import AwsAccount
from slurmpod.operations.deployed import require_account
from slurmpod.permissions import node_roles
from slurmpod.permissions.identity import Checked, NamedIdentity, judge_identity
from slurmpod.resolve import Resolved


def check_identity(account: AwsAccount, resolved: Resolved) -> tuple[Checked, ...]:
    """Read the roles that the environment names from the account, and check them.

    Raises:
        AwsUnavailable: AWS does not answer, or the credentials belong to another account.
    """
    require_account(account, resolved.environment)
    return judge_identity(read_identity(account, resolved), resolved)


def read_identity(account: AwsAccount, resolved: Resolved) -> NamedIdentity:
    """Return the roles, boundaries and further policies that the environment names.

    Raises:
        AwsUnavailable: AWS does not answer.
    """
    identity = resolved.identity
    arns = node_roles(resolved) if identity.existing else {}
    roles = {arn: account.iam_role(arn) for arn in arns}
    boundaries = {role.boundary_arn for role in roles.values() if role and role.boundary_arn}
    if identity.permissions_boundary:
        boundaries.add(identity.permissions_boundary.policy_arn)
    wanted = sorted(boundaries | set(identity.policy_arns))
    return NamedIdentity(roles, {arn: account.iam_policy(arn) for arn in wanted})
