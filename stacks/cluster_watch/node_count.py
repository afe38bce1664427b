"""Metrics of the nodes in service and the wanted nodes."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy, aws_events, aws_iam, aws_kms, aws_lambda, aws_logs
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from slurmpod.folders import folder
from slurmpod_cdk.watch_metrics import NAMESPACE

FUNCTION = folder("functions") / "count_nodes.py"
EVERY = Duration.minutes(5)


class NodeCount(Construct):
    """A function that queries HyperPod every five minutes, because CloudWatch has no such metric.

    It may describe this cluster and write metrics of our namespace. Its log contains its errors and
    is kept for a month.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster_name: str,
        cluster_arn: str,
        key: aws_kms.IKey,
    ) -> None:
        super().__init__(scope, id_)
        log = aws_logs.LogGroup(
            self,
            "Log",
            encryption_key=key,
            retention=aws_logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.function = self._make_function(cluster_name, cluster_arn, log)
        aws_events.Rule(
            self,
            "Schedule",
            description=f"When the nodes of the HyperPod cluster {cluster_name} are counted",
            schedule=aws_events.Schedule.rate(EVERY),
            targets=[targets.LambdaFunction(self.function, retry_attempts=0)],
        )

    def _make_function(
        self, cluster_name: str, cluster_arn: str, log: aws_logs.LogGroup
    ) -> aws_lambda.Function:
        what = f"Counts the nodes of the HyperPod cluster {cluster_name}"
        role = aws_iam.Role(
            self,
            "Role",
            description=what,
            assumed_by=aws_iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"Count": _permissions(cluster_arn, log.log_group_arn)},
        )
        return aws_lambda.Function(
            self,
            "Function",
            description=what,
            code=aws_lambda.Code.from_inline(FUNCTION.read_text(encoding="utf-8")),
            handler="index.handler",
            runtime=aws_lambda.Runtime.PYTHON_3_14,
            environment={
                "CLUSTER": cluster_name,
                "CLUSTER_ARN": cluster_arn,
                "NAMESPACE": NAMESPACE,
            },
            log_group=log,
            memory_size=256,
            role=role.without_policy_updates(),
            timeout=Duration.minutes(1),
        )


def _permissions(cluster_arn: str, log_group_arn: str) -> aws_iam.PolicyDocument:
    return aws_iam.PolicyDocument(
        statements=[
            aws_iam.PolicyStatement(
                sid="AskForNodes",
                actions=["sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"],
                resources=[cluster_arn],
            ),
            aws_iam.PolicyStatement(
                sid="WriteMetrics",
                actions=["cloudwatch:PutMetricData"],
                resources=["*"],
                conditions={"StringEquals": {"cloudwatch:namespace": NAMESPACE}},
            ),
            aws_iam.PolicyStatement(
                sid="WriteLog",
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[log_group_arn],
            ),
        ]
    )
