"""Sessions on nodes: their document, their key, and the storage of their records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aws_cdk import Duration, RemovalPolicy, aws_iam, aws_kms, aws_logs, aws_s3, aws_ssm
from constructs import Construct

from slurmpod.environment.access import Sessions
from slurmpod.permissions.registry import JOIN_SESSIONS, RECORD_SESSIONS
from slurmpod.resolve import Resolved, SessionNames, log_group_of_sessions, session_names
from slurmpod.resolve.sessions import SESSION_PREFIX
from slurmpod_cdk.log_groups import logs_encrypt

Principals = list[aws_iam.IPrincipal]

TARGET = "kms:EncryptionContext:aws:ssm:TargetId"
"""The condition key for the node of a session: the caller and the agent on the node pass its target
whenever they use the key (Systems Manager user guide, "Turn on KMS key encryption of session
data"; the names in the context are in the source of the Session Manager plugin)."""


class SessionKey(Construct):
    """The key that the environment names, or a new one.

    A new key is retained when its stack is deleted: without it the records cannot be read. Its
    policy allows the nodes, so that their roles need not name a key that is created after them. It
    also allows CloudWatch Logs for the log group, even if records now go elsewhere: the group is
    retained, and is unreadable while CloudWatch Logs may not use the key (CloudWatch Logs user
    guide, "Encrypt log data in CloudWatch Logs using AWS KMS").
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
    """Allow nodes to decrypt the data key that the caller of a session sends them."""
    return aws_iam.PolicyStatement(
        sid="NodesJoinSessions",
        principals=nodes,
        actions=list(JOIN_SESSIONS),
        resources=["*"],
        conditions={"StringLike": {TARGET: f"sagemaker-cluster:{cluster_id}_*"}},
    )


def _nodes_record(resolved: Resolved, nodes: Principals) -> aws_iam.PolicyStatement:
    """Allow nodes to write encrypted objects; multipart uploads also need decryption."""
    return aws_iam.PolicyStatement(
        sid="NodesRecordSessions",
        principals=nodes,
        actions=list(RECORD_SESSIONS),
        resources=["*"],
        conditions={"StringEquals": {"kms:ViaService": resolved.service("s3")}},
    )


KEPT = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


class SessionRecords(Construct):
    """An encrypted log group or bucket, or neither, depending on `names`; retained."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        names: SessionNames,
        key: aws_kms.IKey,
        retention_days: int,
    ) -> None:
        super().__init__(scope, id_)
        if names.log_group:
            self._make_log_group(names.log_group, key, retention_days)
        if names.bucket:
            self._make_bucket(names.bucket, key, retention_days)

    def _make_log_group(self, name: str, key: aws_kms.IKey, retention_days: int) -> None:
        group = aws_logs.CfnLogGroup(
            self,
            "LogGroup",
            log_group_name=name,
            kms_key_id=key.key_arn,
            retention_in_days=retention_days,
        )
        group.apply_removal_policy(KEPT)

    def _make_bucket(self, name: str, key: aws_kms.IKey, retention_days: int) -> None:
        """Make a private bucket that accepts TLS requests only.

        Nodes can write records but neither read nor delete them; overwritten records remain as
        earlier versions.
        """
        age = Duration.days(retention_days)
        aws_s3.Bucket(
            self,
            "Bucket",
            bucket_name=name,
            block_public_access=aws_s3.BlockPublicAccess.BLOCK_ALL,
            encryption=aws_s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=True,
            enforce_ssl=True,
            object_ownership=aws_s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=KEPT,
            versioned=True,
            lifecycle_rules=[
                aws_s3.LifecycleRule(
                    id="DeleteOldRecords",
                    enabled=True,
                    expiration=age,
                    noncurrent_version_expiration=age,
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                )
            ],
        )


FROM_TAG = "${tag}"
"""The setting that takes the user from the caller's tag SSMSessionRunAs."""

SHELL_PROFILE = 'export HOME="$(getent passwd "$(id -u)" | cut -d: -f6)"; cd; exec bash --login'
"""A login shell in the home directory. The agent starts a plain `sh` and assumes /home/<user> as
the home directory of every user."""


class SessionDocument(Construct):
    """A document of type Session, schema 1.0; its latest version is the default.

    Source: Systems Manager user guide, "Session document schema".
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        names: SessionNames,
        sessions: Sessions,
        key_arn: str,
    ) -> None:
        super().__init__(scope, id_)
        document = aws_ssm.CfnDocument(
            self,
            "Document",
            name=names.document,
            document_type="Session",
            document_format="JSON",
            update_method="NewVersion",
            content={
                "schemaVersion": "1.0",
                "description": "Sessions on the nodes of a HyperPod cluster",
                "sessionType": "Standard_Stream",
                "inputs": {
                    "kmsKeyId": key_arn,
                    **_record(names),
                    **_run_as(sessions),
                    **_limits(sessions),
                    "shellProfile": {"linux": SHELL_PROFILE},
                },
            },
        )
        self.name = document.ref


def _record(names: SessionNames) -> dict[str, Any]:
    """Return the storage of records; unencrypted storage is refused."""
    return {
        "cloudWatchLogGroupName": names.log_group or "",
        "cloudWatchEncryptionEnabled": True,
        "cloudWatchStreamingEnabled": True,
        "s3BucketName": names.bucket or "",
        "s3KeyPrefix": SESSION_PREFIX.rstrip("/") if names.bucket else "",
        "s3EncryptionEnabled": True,
    }


def _run_as(sessions: Sessions) -> dict[str, Any]:
    """Return the user of sessions; without one, the caller's tag must name the user."""
    return {
        "runAsEnabled": True,
        "runAsDefaultUser": "" if sessions.run_as == FROM_TAG else sessions.run_as,
    }


def _limits(sessions: Sessions) -> dict[str, str]:
    longest = sessions.max_duration_minutes
    return {
        "idleSessionTimeout": str(sessions.idle_timeout_minutes),
        "maxSessionDuration": str(longest) if longest else "",
    }
