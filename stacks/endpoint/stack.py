"""The endpoint stack: a model that SageMaker serves in the network of the cluster."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnOutput, Duration, Tags, aws_cloudwatch
from constructs import Construct

from slurmpod.resolve import Resolved, ResolvedEndpoint
from slurmpod_cdk.alarm import Condition, add_alarm
from slurmpod_cdk.endpoint.model_endpoint import VARIANT, ModelEndpoint
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.monitoring.stack import Watching
from slurmpod_cdk.network.stack import ClusterNetwork
from slurmpod_cdk.watch_metrics import FIVE_MINUTES

DELETE_AFTER_TAG = "slurmpod:delete-after"
"""The tag with the day until which the resource is wanted."""


def endpoint_of(
    scope: Construct, resolved: Resolved, network: ClusterNetwork, watching: Watching | None
) -> EndpointStack | None:
    """Make the endpoint if the environment has one, else return None."""
    if resolved.endpoint is None:
        return None
    return EndpointStack(
        scope, resolved=resolved, endpoint=resolved.endpoint, network=network, watching=watching
    )


class EndpointStack(EnvironmentStack):
    """The stack of the endpoint; only its log, which is retained, holds data."""

    def __init__(
        self,
        scope: Construct,
        *,
        resolved: Resolved,
        endpoint: ResolvedEndpoint,
        network: ClusterNetwork,
        watching: Watching | None,
    ) -> None:
        super().__init__(
            scope,
            str(resolved.stacks.endpoint),
            resolved=resolved,
            description=f"A model served beside the HyperPod cluster {resolved.name}",
        )
        if endpoint.settings.delete_after:
            Tags.of(self).add(DELETE_AFTER_TAG, endpoint.settings.delete_after)
        served = ModelEndpoint(
            self,
            "Endpoint",
            resolved=resolved,
            endpoint=endpoint,
            subnet_ids=list(network.subnet_ids.values()),
            security_group_ids=network.security_group_ids,
        )
        if watching and watching.topic_arns:
            EndpointAlarms(
                self, "Alarms", endpoint_name=served.name, topic_arns=watching.topic_arns
            )
        CfnOutput(
            self,
            "EndpointName",
            value=served.name,
            description="For aws sagemaker-runtime invoke-endpoint --endpoint-name",
        )
        CfnOutput(self, "EndpointArn", value=served.arn, description="For sagemaker:InvokeEndpoint")


PERIODS_WITH_ERRORS = 3
"""Consecutive periods: one failed request raises no alarm, a quarter of an hour of them does."""

DAY = Duration.days(1)
_Missing = aws_cloudwatch.TreatMissingData


class EndpointAlarms(Construct):
    """Alarms for failed requests, and for an unused endpoint, which is still billed.

    SageMaker reports no metrics without requests.

    Source: SageMaker developer guide, "Amazon SageMaker AI metrics in Amazon CloudWatch", endpoint
    invocation metrics.
    """

    def __init__(
        self, scope: Construct, id_: str, *, endpoint_name: str, topic_arns: Mapping[str, str]
    ) -> None:
        super().__init__(scope, id_)
        errors = _sum("Invocation5XXErrors", endpoint_name, FIVE_MINUTES)
        add_alarm(
            self,
            "Errors",
            Condition(errors, 0, PERIODS_WITH_ERRORS, _Missing.NOT_BREACHING),
            text="the endpoint has returned server errors for a quarter of an hour: "
            "read its log group, below /aws/sagemaker/Endpoints",
            topic_arn=topic_arns["warning"],
        )
        requests = _sum("Invocations", endpoint_name, DAY)
        fewer = aws_cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
        add_alarm(
            self,
            "Unused",
            Condition(requests, 1, 1, _Missing.BREACHING, fewer),
            text="the endpoint had no requests for a day, but its instances are billed: "
            "destroy its stack (slurmpod destroy FILE --only endpoint) and remove "
            "services.endpoint",
            topic_arn=topic_arns["info"],
        )


def _sum(name: str, endpoint: str, period: Duration) -> aws_cloudwatch.Metric:
    return aws_cloudwatch.Metric(
        namespace="AWS/SageMaker",
        metric_name=name,
        dimensions_map={"EndpointName": endpoint, "VariantName": VARIANT},
        statistic="Sum",
        period=period,
    )
