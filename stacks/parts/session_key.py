"""The key that encrypts sessions while they run, and what is kept of them."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import RemovalPolicy, aws_iam, aws_kms
from constructs import Construct

from slurmpod.deploy.permissions.registry import JOIN_SESSIONS, RECORD_SESSIONS
from slurmpod.resolve import Resolved, log_group_of_sessions, session_names
from slurmpod_cdk.parts.encrypted_logs import logs_encrypt

Principals = list[aws_iam.IPrincipal]

TARGET = "kms:EncryptionContext:aws:ssm:TargetId"
"""The condition key for the node of a session: whoever opens one and the agent on the node name
its target whenever they use the key (Systems Manager user guide, "Turn on KMS key encryption of
session data"; the names of the context stand in the source of the Session Manager plugin)."""


class SessionKey(Construct):
    """The key that the environment names, or one of its own.

    Its own is kept when its stack goes: without it nobody reads the records again. Its policy lets
    the nodes use it, so that their roles need to name no key that is made after them; and
    CloudWatch Logs, for the one log group, wherever records go now: the group is kept when they
    turn elsewhere, and nobody reads it while CloudWatch Logs may not use the key (CloudWatch Logs
    user guide, "Encrypt log data in CloudWatch Logs using AWS KMS").
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        given_arn: str | None,
        cluster_id: str,
        node_role_arns: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        self.key: aws_kms.IKey
        if given_arn:
            self.key = aws_kms.Key.from_key_arn(self, "Given", given_arn)
            return
        own = aws_kms.Key(
            self,
            "Key",
            description=f"Sessions on the HyperPod cluster {resolved.name}, and their records",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        nodes: Principals = [aws_iam.ArnPrincipal(arn) for arn in node_role_arns]
        own.add_to_resource_policy(_nodes_join(nodes, cluster_id))
        log_group = log_group_of_sessions(resolved.name)
        own.add_to_resource_policy(logs_encrypt(resolved, "LogsEncryptRecords", log_group))
        if session_names(resolved).bucket:
            own.add_to_resource_policy(_nodes_record(resolved, nodes))
        self.key = own


def _nodes_join(nodes: Principals, cluster_id: str) -> aws_iam.PolicyStatement:
    """Let nodes read the data key that whoever opens a session sends them."""
    return aws_iam.PolicyStatement(
        sid="NodesJoinSessions",
        principals=nodes,
        actions=list(JOIN_SESSIONS),
        resources=["*"],
        conditions={"StringLike": {TARGET: f"sagemaker-cluster:{cluster_id}_*"}},
    )


def _nodes_record(resolved: Resolved, nodes: Principals) -> aws_iam.PolicyStatement:
    """Let nodes write encrypted objects; those of several parts are decrypted meanwhile."""
    return aws_iam.PolicyStatement(
        sid="NodesRecordSessions",
        principals=nodes,
        actions=list(RECORD_SESSIONS),
        resources=["*"],
        conditions={"StringEquals": {"kms:ViaService": resolved.service("s3")}},
    )
