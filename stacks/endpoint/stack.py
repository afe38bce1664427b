"""The endpoint stack: a model that SageMaker serves in the network of the cluster."""

from __future__ import annotations

from aws_cdk import CfnOutput, Tags
from constructs import Construct

from slurmpod.resolve import Resolved, ResolvedEndpoint
from slurmpod_cdk.endpoint.endpoint_alarms import EndpointAlarms
from slurmpod_cdk.endpoint.model_endpoint import ModelEndpoint
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.monitoring.stack import Watching
from slurmpod_cdk.network.stack import ClusterNetwork

DELETE_AFTER_TAG = "slurmpod:delete-after"
"""The tag with the day until which something is wanted."""


def endpoint_of(
    scope: Construct, resolved: Resolved, network: ClusterNetwork, watching: Watching | None
) -> EndpointStack | None:
    """Make the endpoint that the environment asks for; None where it asks for none."""
    if resolved.endpoint is None:
        return None
    return EndpointStack(
        scope, resolved=resolved, endpoint=resolved.endpoint, network=network, watching=watching
    )


class EndpointStack(EnvironmentStack):
    """Nothing in it holds data but the log, which outlives it."""

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
