"""The access stack: policies for people, and their sessions."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import CfnOutput, aws_iam
from constructs import Construct

from slurmpod.environment.access import Sessions
from slurmpod.resolve import Resolved, session_names
from slurmpod_cdk.access.people_policies import Statements, Ways, administrators, users
from slurmpod_cdk.access.sessions import SessionDocument, SessionKey, SessionRecords
from slurmpod_cdk.cluster.stack import ClusterStack
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.identity.stack import ExecutionRoles


def access_of(
    scope: Construct, resolved: Resolved, cluster: ClusterStack, roles: ExecutionRoles
) -> AccessStack | None:
    """Make the access stack if the environment configures access, else return None."""
    sessions = resolved.access.sessions
    if resolved.stacks.access is None or sessions is None:
        return None
    return AccessStack(
        scope,
        resolved.stacks.access,
        resolved=resolved,
        sessions=sessions,
        cluster=cluster,
        node_role_arns=list(dict.fromkeys(roles.arns.values())),
    )


class AccessStack(EnvironmentStack):
    """Managed policies for administrators and users, and the session document.

    Key and records are retained when it is deleted.
    """

    def __init__(
        self,
        scope: Construct,
        stack_name: str,
        *,
        resolved: Resolved,
        sessions: Sessions,
        cluster: ClusterStack,
        node_role_arns: Sequence[str],
    ) -> None:
        super().__init__(
            scope,
            stack_name,
            resolved=resolved,
            description=f"Policies and sessions for people on the HyperPod cluster {resolved.name}",
        )
        names = session_names(resolved)
        key = SessionKey(
            self,
            "Sessions",
            resolved=resolved,
            given_arn=sessions.kms_key_arn,
            cluster_id=cluster.cluster_id,
            node_role_arns=node_role_arns,
        ).key
        records = SessionRecords(
            self, "Records", names=names, key=key, retention_days=sessions.retention_days
        )
        document = SessionDocument(
            self, "Document", names=names, sessions=sessions, key_arn=key.key_arn
        )
        document.node.add_dependency(records)
        ways = Ways(
            cluster_arn=cluster.cluster_arn,
            cluster_id=cluster.cluster_id,
            node_log_group=cluster.log_group_name,
            key_arn=key.key_arn,
        )
        self._make_policies(resolved, ways)
        self._put_out("SessionDocument", document.name, "For start-session --document-name")
        if place := names.log_group or names.bucket:
            self._put_out("SessionRecords", place, "Where sessions are recorded")

    def _make_policies(self, resolved: Resolved, ways: Ways) -> None:
        names, cluster = session_names(resolved), f"of the HyperPod cluster {resolved.name}"
        self._make_policy(
            "Administrators",
            names.administrators_policy,
            f"Administrators {cluster}",
            administrators(resolved, ways),
        )
        if resolved.access.session_groups:
            who = f"Users {cluster}"
            self._make_policy("Users", names.users_policy, who, users(resolved, ways))

    def _make_policy(self, id_: str, name: str, who: str, statements: Statements) -> None:
        """Make a policy with a fixed name: IAM Identity Center refers to policies by name."""
        policy = aws_iam.ManagedPolicy(
            self, id_, managed_policy_name=name, description=who, statements=statements
        )
        self._put_out(f"{id_}Policy", name, f"{who}: name of their policy")
        self._put_out(f"{id_}PolicyArn", policy.managed_policy_arn, f"{who}: ARN of their policy")

    def _put_out(self, id_: str, value: str, description: str) -> None:
        CfnOutput(self, id_, value=value, description=description)
