"""Managed policies for people: cluster administrators, and users of the cluster.

In StartSession, IAM distinguishes neither groups nor nodes of a cluster, only the cluster and the
document. The key of the document distinguishes nodes: to start a session, the caller must generate
a data key for that node, and the policies list the permitted nodes. A data key for another node
does not work: the node names itself when it decrypts the key.

Sources: service authorization reference, AWS Systems Manager and AWS KMS; Systems Manager user
guide, "Sample IAM policies for Session Manager"; SageMaker HyperPod developer guide, "IAM users
for cluster admin".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_iam

from slurmpod.resolve import Resolved, session_names, session_target
from slurmpod.resolve.sessions import INSTANCE_ID_PATTERN, SESSION_PREFIX
from slurmpod_cdk.access.sessions import TARGET

Statements = list[aws_iam.PolicyStatement]

LOOK = (
    "sagemaker:DescribeCluster",
    "sagemaker:DescribeClusterEvent",
    "sagemaker:DescribeClusterNode",
    "sagemaker:DescribeClusterOperation",
    "sagemaker:ListClusterEvents",
    "sagemaker:ListClusterNodes",
    "sagemaker:ListClusterOperations",
)
MANAGE = (
    "sagemaker:BatchAddClusterNodes",
    "sagemaker:BatchDeleteClusterNodes",
    "sagemaker:BatchRebootClusterNodes",
    "sagemaker:BatchReplaceClusterNodes",
    "sagemaker:StartClusterHealthCheck",
    "sagemaker:UpdateClusterSoftware",
)
READ_LOGS = (
    "logs:DescribeLogStreams",
    "logs:FilterLogEvents",
    "logs:GetLogEvents",
    "logs:StartQuery",
)


@dataclass(frozen=True)
class Ways:
    """Resources in the policies that are known only at deployment: tokens."""

    cluster_arn: str
    cluster_id: str
    node_log_group: str
    key_arn: str


def administrators(resolved: Resolved, ways: Ways) -> Statements:
    """Allow sessions on all nodes, managing nodes, and reading their logs and session records."""
    everywhere = f"sagemaker-cluster:{ways.cluster_id}_*"
    return [
        *_open_sessions(resolved, ways, [everywhere]),
        *_own_sessions(resolved),
        aws_iam.PolicyStatement(
            sid="EndSessionsOnTheCluster",
            actions=["ssm:TerminateSession"],
            resources=[resolved.arn("ssm", "session/*")],
            conditions={
                "StringLike": {"ssm:resourceTag/aws:ssmmessages:target-id": everywhere},
            },
        ),
        aws_iam.PolicyStatement(
            sid="ManageNodes", actions=[*LOOK, *MANAGE], resources=[ways.cluster_arn]
        ),
        *_read_logs(resolved, ways),
    ]


def users(resolved: Resolved, ways: Ways) -> Statements:
    """Allow sessions on the nodes of the session groups, listing nodes, and ending own sessions."""
    targets = [
        session_target(ways.cluster_id, group, INSTANCE_ID_PATTERN)
        for group in resolved.access.session_groups
    ]
    look = aws_iam.PolicyStatement(
        sid="FindNodes",
        actions=["sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"],
        resources=[ways.cluster_arn],
    )
    return [*_open_sessions(resolved, ways, targets), *_own_sessions(resolved), look]


def _open_sessions(resolved: Resolved, ways: Ways, targets: Sequence[str]) -> Statements:
    """Allow sessions with the document, on nodes for which data keys may be generated."""
    document = session_names(resolved).document
    return [
        aws_iam.PolicyStatement(
            sid="OpenSessions",
            actions=["ssm:StartSession"],
            resources=[ways.cluster_arn, resolved.arn("ssm", f"document/{document}")],
            conditions={"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}},
        ),
        aws_iam.PolicyStatement(
            sid="UseChannels", actions=["ssmmessages:OpenDataChannel"], resources=["*"]
        ),
        aws_iam.PolicyStatement(
            sid="EncryptSessionsWithTheseNodes",
            actions=["kms:GenerateDataKey"],
            resources=[ways.key_arn],
            conditions={"StringLike": {TARGET: list(targets)}},
        ),
    ]


def _own_sessions(resolved: Resolved) -> Statements:
    """Allow ending and resuming sessions started by the same user or role session name."""
    return [
        aws_iam.PolicyStatement(
            sid="OwnSessions",
            actions=["ssm:ResumeSession", "ssm:TerminateSession"],
            resources=[resolved.arn("ssm", "session/*")],
            conditions={
                "StringEquals": {"ssm:resourceTag/aws:ssmmessages:session-id": "${aws:userid}"}
            },
        )
    ]


def _read_logs(resolved: Resolved, ways: Ways) -> Statements:
    names = session_names(resolved)
    groups = [ways.node_log_group]
    if names.log_group:
        groups.append(names.log_group)
    statements = [
        aws_iam.PolicyStatement(
            sid="ReadLogs",
            actions=list(READ_LOGS),
            resources=[resolved.arn("logs", f"log-group:{group}:*") for group in groups],
        ),
        aws_iam.PolicyStatement(
            sid="SeeQueriesAndSessions",
            actions=["logs:GetQueryResults", "ssm:DescribeSessions"],
            resources=["*"],
        ),
    ]
    if names.bucket:
        statements += _read_bucket(resolved, ways, names.bucket)
    return statements


def _read_bucket(resolved: Resolved, ways: Ways, bucket: str) -> Statements:
    arn = resolved.bucket_arn(bucket)
    return [
        aws_iam.PolicyStatement(sid="ListRecords", actions=["s3:ListBucket"], resources=[arn]),
        aws_iam.PolicyStatement(
            sid="ReadRecords",
            actions=["s3:GetObject"],
            resources=[f"{arn}/{SESSION_PREFIX}*"],
        ),
        aws_iam.PolicyStatement(
            sid="DecryptRecords",
            actions=["kms:Decrypt"],
            resources=[ways.key_arn],
            conditions={"StringEquals": {"kms:ViaService": resolved.service("s3")}},
        ),
    ]
