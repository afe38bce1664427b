"""HyperPod's own collector of metrics on the nodes of a cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aws_cdk import Acknowledgment, CfnResource, Validations
from constructs import Construct

from slurmpod.environment.monitoring import Observability

NAME = "sagemaker-observability"


class ObservabilityExtension(Construct):
    """The extension `sagemaker-observability`, which HyperPod installs on every node.

    The generic resource: the pinned CDK has no construct of AWS::SageMaker::Extension yet. The CDK
    tags no generic resources, so the tags are among its properties.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        settings: Observability,
        cluster_arn: str,
        tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        version = {"ExtensionVersion": settings.version} if settings.version else {}
        extension = CfnResource(
            self,
            "Extension",
            type="AWS::SageMaker::Extension",
            properties={
                "ClusterArn": cluster_arn,
                "ExtensionName": NAME,
                **version,
                "ConfigurationValues": json.dumps(_configuration(settings)),
                "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
            },
        )
        Validations.of(extension).acknowledge(
            Acknowledgment(
                id="CloudFormation-Validate::F3006",
                reason="its list of resource types ends with the pinned version of the CDK, which "
                "came before this one",
            )
        )


def _configuration(settings: Observability) -> Mapping[str, Any]:
    """Return the settings in HyperPod's words; all of ours, as an update keeps what it leaves out.

    Source: developer guide, "Observability extension configuration".
    """
    metrics = {
        "nodeMetrics": {"level": settings.node_metrics},
        "ncclMetrics": {"level": "ENABLED" if settings.nccl_metrics else "DISABLED"},
    }
    url = settings.remote_write_url
    return {
        **({"prometheus": {"remoteWriteUrl": url}} if url else {}),
        "metricsProvider": metrics,
    }
