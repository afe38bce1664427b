"""Permissions of the stacks' functions, which a boundary must allow.

Their policies are defined beside the functions; they are repeated here to check boundaries against
them.
"""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.permissions.agents import LOG_GROUPS
from slurmpod.permissions.permission import Grant, Permission, Policy, Target, grants_of
from slurmpod.resolve import Resolved

BUCKET_DEPLOYMENT = (
    "https://docs.aws.amazon.com/cdk/api/v2/python/aws_cdk.aws_s3_deployment/README.html"
)
ASSETS = "https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html"
FUNCTION_LOGS = (
    "https://docs.aws.amazon.com/aws-managed-policy/latest/reference/"
    "AWSLambdaBasicExecutionRole.html"
)
DEFAULT_GROUP = (
    "https://docs.aws.amazon.com/cdk/api/v2/python/aws_cdk.aws_ec2/Vpc.html"
    "#aws_cdk.aws_ec2.Vpc.params.restrict_default_security_group"
)
ROOT_SQUASH = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/root-squash.html"
LOG_SETTINGS = (
    "https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/permissions-reference-cwl.html"
)
COUNTING = "https://docs.aws.amazon.com/service-authorization/latest/reference/list_sagemaker.html"
COUNTED = (
    "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/"
    "iam-cw-condition-keys-namespace.html"
)
GRAFANA = "https://docs.aws.amazon.com/grafana/latest/userguide/AMG-manage-permissions.html"
WHO = "the CDK's function that fills the lifecycle bucket"


def grants_of_functions(resolved: Resolved) -> Iterator[Grant]:
    """Yield the permissions of an environment's functions, if it has any."""
    yield from grants_of(FUNCTIONS, resolved)


def _assets(resolved: Resolved) -> Iterator[Target]:
    bucket = f"cdk-hnb659fds-assets-{resolved.account}-{resolved.region}"
    if resolved.stacks.lifecycle:
        yield Target((f"{resolved.bucket_arn(bucket)}/*",))


def _scripts(resolved: Resolved) -> Iterator[Target]:
    if resolved.stacks.lifecycle:
        yield Target((f"{resolved.bucket_arn(resolved.lifecycle.bucket)}/*",))


def _logs(resolved: Resolved) -> Iterator[Target]:
    if resolved.stacks.lifecycle:
        yield Target((resolved.arn("logs", "log-group:/aws/lambda/*"),))


def _default_groups(resolved: Resolved) -> Iterator[Target]:
    if resolved.network.existing is None:
        yield Target((resolved.arn("ec2", "security-group/*"),))


def _squashed_file_systems(resolved: Resolved) -> Iterator[Target]:
    if any(each.settings.root_squash for each in resolved.lustre):
        yield Target((resolved.arn("fsx", "file-system/*"),))


def _cluster_logs(resolved: Resolved) -> Iterator[Target]:
    if resolved.stacks.cluster_watch:
        yield Target((resolved.arn("logs", f"log-group:{LOG_GROUPS}/{resolved.name}/*"),))


def _counted_clusters(resolved: Resolved) -> Iterator[Target]:
    if resolved.stacks.cluster_watch:
        yield Target((resolved.arn("sagemaker", "cluster/*"),))


def _counts(resolved: Resolved) -> Iterator[Target]:
    if resolved.stacks.cluster_watch:
        yield Target(("*",), {"StringEquals": {"cloudwatch:namespace": "slurmpod"}})


def _queried_workspaces(resolved: Resolved) -> Iterator[Target]:
    monitoring = resolved.monitoring
    if monitoring and monitoring.grafana:
        yield Target((resolved.arn("aps", "workspace/*"),))


_FUNCTIONS = Policy("Functions")

FUNCTIONS: tuple[Permission[Resolved], ...] = (
    _FUNCTIONS.allows(
        sid="ReadAssets",
        actions=("s3:GetObject",),
        resource="objects of the CDK's asset bucket",
        needed_by=WHO,
        why="Scripts are uploaded there before they are deployed.",
        source=ASSETS,
        targets=_assets,
    ),
    _FUNCTIONS.allows(
        sid="WriteScripts",
        actions=("s3:DeleteObject", "s3:PutObject"),
        resource="objects of the lifecycle bucket",
        needed_by=WHO,
        why="It copies the scripts to the bucket from which nodes fetch them.",
        source=BUCKET_DEPLOYMENT,
        targets=_scripts,
    ),
    _FUNCTIONS.allows(
        sid="WriteFunctionLogs",
        actions=("logs:CreateLogStream", "logs:PutLogEvents"),
        resource="log groups of Lambda functions",
        needed_by=WHO,
        why="It writes a log.",
        source=FUNCTION_LOGS,
        targets=_logs,
    ),
    _FUNCTIONS.allows(
        sid="EmptyDefaultGroup",
        actions=(
            "ec2:AuthorizeSecurityGroupEgress",
            "ec2:AuthorizeSecurityGroupIngress",
            "ec2:RevokeSecurityGroupEgress",
            "ec2:RevokeSecurityGroupIngress",
        ),
        resource="the default security group of the new VPC",
        needed_by="the CDK's function that empties the default security group",
        why="Nothing is put into it by mistake.",
        source=DEFAULT_GROUP,
        targets=_default_groups,
    ),
    _FUNCTIONS.allows(
        sid="SetRootSquash",
        actions=("fsx:UpdateFileSystem",),
        resource="file systems with root_squash",
        needed_by="the CDK's function that sets root squash",
        why="CloudFormation has no property for it.",
        source=ROOT_SQUASH,
        targets=_squashed_file_systems,
    ),
    _FUNCTIONS.allows(
        sid="SetUpClusterLogs",
        actions=(
            "logs:AssociateKmsKey",
            "logs:CreateLogGroup",
            "logs:PutRetentionPolicy",
            "logs:TagResource",
        ),
        resource="the log group of the cluster",
        needed_by="the CDK's function that sets retention, key and tags of the cluster's logs",
        why="CloudFormation does not change log groups that a service created.",
        source=LOG_SETTINGS,
        targets=_cluster_logs,
    ),
    _FUNCTIONS.allows(
        sid="AskForNodes",
        actions=("sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"),
        resource="the cluster",
        needed_by="the function that counts nodes",
        why="Alarms report missing nodes.",
        source=COUNTING,
        targets=_counted_clusters,
    ),
    _FUNCTIONS.allows(
        sid="WriteCounts",
        actions=("cloudwatch:PutMetricData",),
        resource="`*`: IAM supports no narrower resource",
        condition="`cloudwatch:namespace` is slurmpod",
        needed_by="the function that counts nodes",
        why="Alarms report missing nodes.",
        source=COUNTED,
        targets=_counts,
    ),
    _FUNCTIONS.allows(
        sid="QueryMetrics",
        actions=(
            "aps:GetLabels",
            "aps:GetMetricMetadata",
            "aps:GetSeries",
            "aps:ListAlertManagerAlerts",
            "aps:ListRules",
            "aps:QueryMetrics",
        ),
        resource="the workspace for metrics",
        needed_by="Grafana",
        why="Dashboards show metrics.",
        source=GRAFANA,
        targets=_queried_workspaces,
    ),
)
