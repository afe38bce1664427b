"""Permissions of HyperPod's own agents: interfaces, volumes, logs, sessions, updates.

The last group is for the Systems Manager agent, if sessions are recorded and encrypted.
"""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.permissions.permission import (
    InNetwork,
    Permission,
    Policy,
    Scope,
    Target,
    on_all,
)
from slurmpod.resolve.sessions import SESSION_PREFIX

GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg/"
ROLE_IN_A_VPC = f"{GUIDE}sagemaker-hyperpod-prerequisites-iam.html"
MANAGED_POLICY = f"{GUIDE}security-iam-awsmanpol-AmazonSageMakerClusterInstanceRolePolicy.html"
VOLUME_KEYS = f"{GUIDE}smcluster-cmk.html"
ROLLBACK = f"{GUIDE}sagemaker-hyperpod-ami-update.html"

LOG_GROUPS = "/aws/sagemaker/Clusters"
"""HyperPod's log group of a cluster is /aws/sagemaker/Clusters/<name>/<id>; its namespace of
metrics has the same name."""

DESCRIBE_NETWORK = (
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
)
"""Read actions that SageMaker needs before it creates interfaces in a VPC, for nodes and for
services.
"""


def _interfaces(scope: InNetwork) -> str:
    return scope.arn("ec2", "network-interface/*")


def new_interfaces(scope: InNetwork) -> Iterator[Target]:
    """Yield the resources of a new interface: its subnet and its security groups."""
    arn = scope.arn
    subnets = (arn("ec2", f"subnet/{id_}") for id_ in scope.subnet_ids)
    groups = (arn("ec2", f"security-group/{id_}") for id_ in scope.security_group_ids)
    yield Target((_interfaces(scope), *subnets, *groups))


def own_interfaces(scope: InNetwork) -> Iterator[Target]:
    """Yield all interfaces of the account and Region: their ids are not known before."""
    yield Target((_interfaces(scope),))


def _interfaces_on_instances(scope: Scope) -> Iterator[Target]:
    instances = f"arn:{scope.aws_partition}:ec2:{scope.region}:*:instance/*"
    yield Target((_interfaces(scope), instances))


def _keys_of_volumes(scope: Scope) -> Iterator[Target]:
    if scope.volume_key_arns:
        yield Target(tuple(sorted(scope.volume_key_arns)))


def _log_groups(scope: Scope) -> Iterator[Target]:
    yield Target((scope.arn("logs", f"log-group:{LOG_GROUPS}/{scope.cluster_name}/*"),))


def _log_streams(scope: Scope) -> Iterator[Target]:
    streams = f"log-group:{LOG_GROUPS}/{scope.cluster_name}/*:log-stream:*"
    yield Target((scope.arn("logs", streams),))


def _metrics(_: Scope) -> Iterator[Target]:
    yield Target(("*",), {"StringEquals": {"cloudwatch:namespace": LOG_GROUPS}})


def _alarms(scope: Scope) -> Iterator[Target]:
    if scope.asks_for_alarms:
        yield Target(("*",))


_NETWORK = Policy("Network", source=ROLE_IN_A_VPC)
_AGENTS = Policy("Agents", needed_by="HyperPod's agents on the nodes", source=MANAGED_POLICY)

PLATFORM: tuple[Permission[Scope], ...] = (
    _NETWORK.allows(
        sid="CreateNetworkInterfaces",
        actions=("ec2:CreateNetworkInterface",),
        resource="network interfaces of the account and Region, in the environment's subnets, with "
        "its security groups only",
        needed_by="HyperPod, for every new node",
        why="Instances run in an account of the service; interfaces put them into your VPC.",
        targets=new_interfaces,
    ),
    _NETWORK.allows(
        sid="ManageNetworkInterfaces",
        actions=(
            "ec2:CreateNetworkInterfacePermission",
            "ec2:CreateTags",
            "ec2:DeleteNetworkInterface",
            "ec2:DeleteNetworkInterfacePermission",
        ),
        resource="network interfaces of the account and Region",
        needed_by="HyperPod, for every new, replaced or deleted node",
        why="HyperPod attaches the interface to its instance, tags it, and finally deletes it.",
        targets=own_interfaces,
    ),
    _NETWORK.allows(
        sid="DetachNetworkInterfaces",
        actions=("ec2:DetachNetworkInterface",),
        resource="network interfaces of the account and Region, on instances of any account: "
        "HyperPod's instances belong to the service's account",
        needed_by="HyperPod, when it replaces a node",
        why="A new instance takes over the faulty one's interface, and with it the address.",
        targets=_interfaces_on_instances,
    ),
    _NETWORK.allows(
        sid="DescribeNetwork",
        actions=DESCRIBE_NETWORK,
        resource="`*`: IAM supports no narrower resource",
        needed_by="HyperPod, before it creates interfaces",
        why="HyperPod reads the subnets and security groups that the request names.",
        targets=on_all,
    ),
    _AGENTS.allows(
        sid="CreateLogGroups",
        actions=("logs:CreateLogGroup",),
        resource=f"log groups below {LOG_GROUPS}/, of this cluster's name",
        why="The output of lifecycle scripts and health checks goes to CloudWatch Logs.",
        targets=_log_groups,
    ),
    _AGENTS.allows(
        sid="WriteLogs",
        actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
        resource=f"log streams below {LOG_GROUPS}/, of this cluster's name",
        why="The output of lifecycle scripts and health checks goes to CloudWatch Logs.",
        targets=_log_streams,
    ),
    _AGENTS.allows(
        sid="PutMetrics",
        actions=("cloudwatch:PutMetricData",),
        resource="`*`: IAM supports no narrower resource",
        condition=f"`cloudwatch:namespace` is {LOG_GROUPS}",
        why="Agents report the health of nodes as metrics.",
        targets=_metrics,
    ),
    _AGENTS.allows(
        sid="TakeSessions",
        actions=(
            "ssmmessages:CreateControlChannel",
            "ssmmessages:CreateDataChannel",
            "ssmmessages:OpenControlChannel",
            "ssmmessages:OpenDataChannel",
        ),
        resource="`*`: IAM supports no narrower resource",
        needed_by="the Systems Manager agent on the nodes",
        why="Sessions reach nodes through a channel that the node itself opens.",
        targets=on_all,
    ),
    Policy("VolumeKeys").allows(
        sid="UseVolumeKeys",
        actions=("kms:CreateGrant", "kms:DescribeKey"),
        resource="the keys that groups name for their volumes",
        needed_by="HyperPod, for the volumes of every new node",
        why="HyperPod encrypts volumes with your keys.",
        source=VOLUME_KEYS,
        targets=_keys_of_volumes,
    ),
    Policy("Updates").allows(
        sid="DescribeAlarms",
        actions=("cloudwatch:DescribeAlarms",),
        resource="`*`: CloudWatch shows composite alarms only with this resource",
        needed_by="HyperPod, while it updates nodes",
        why="HyperPod watches the alarms that roll an update back.",
        source=ROLLBACK,
        targets=_alarms,
    ),
)


INSTANCE_PROFILE = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/"
    "getting-started-create-iam-instance-profile.html"
)


def _group_of_records(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.log_group:
        yield Target((scope.arn("logs", f"log-group:{scope.sessions.log_group}:*"),))


def _groups_of_records(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.log_group:
        yield Target(("*",))


def _bucket_of_records(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.bucket:
        yield Target((scope.bucket_arn(scope.sessions.bucket),))


def _recorded_objects(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.bucket:
        yield Target((f"{scope.bucket_arn(scope.sessions.bucket)}/{SESSION_PREFIX}*",))


def _session_key(scope: Scope) -> Iterator[Target]:
    if scope.sessions and scope.sessions.kms_key_arn:
        yield Target((scope.sessions.kms_key_arn,))


def _key_of_records(scope: Scope) -> Iterator[Target]:
    return _session_key(scope) if scope.sessions and scope.sessions.bucket else iter(())


_SESSIONS = Policy(
    "Sessions",
    needed_by="the Systems Manager agent, when a session starts",
    source=INSTANCE_PROFILE,
)

SESSIONS: tuple[Permission[Scope], ...] = (
    _SESSIONS.allows(
        sid="RecordSessions",
        actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
        resource="the environment's log group of sessions",
        needed_by="the Systems Manager agent, during sessions",
        why="The input and output of sessions are recorded.",
        targets=_group_of_records,
    ),
    _SESSIONS.allows(
        sid="FindSessionRecords",
        actions=("logs:DescribeLogGroups",),
        resource="`*`: IAM supports no narrower resource",
        why="The agent starts no session before it has checked that its records are encrypted.",
        targets=_groups_of_records,
    ),
    _SESSIONS.allows(
        sid="RecordSessions",
        actions=("s3:PutObject",),
        resource=f"objects below {SESSION_PREFIX} in the environment's bucket of sessions",
        needed_by="the Systems Manager agent, when a session ends",
        why="The input and output of sessions are recorded.",
        targets=_recorded_objects,
    ),
    _SESSIONS.allows(
        sid="FindSessionRecords",
        actions=("s3:GetEncryptionConfiguration",),
        resource="the environment's bucket of sessions",
        why="The agent starts no session before it has checked that its records are encrypted.",
        targets=_bucket_of_records,
    ),
    _SESSIONS.allows(
        sid="UseSessionKey",
        actions=("kms:Decrypt",),
        resource="access.sessions.kms_key_arn; the policy of a key that slurmpod creates allows "
        "the nodes",
        why="Client and node agree on a data key of this key.",
        targets=_session_key,
    ),
    _SESSIONS.allows(
        sid="EncryptSessionRecords",
        actions=("kms:GenerateDataKey",),
        resource="access.sessions.kms_key_arn; the policy of a key that slurmpod creates allows "
        "the nodes",
        needed_by="S3, for the Systems Manager agent",
        why="S3 encrypts records with the permissions of the writer.",
        targets=_key_of_records,
    ),
)
