"""The HyperPod cluster itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import Acknowledgment, CfnResource, Validations
from constructs import Construct


class SlurmCluster(Construct):
    """A cluster that is created with `request`, a CreateCluster request.

    The generic resource, because the properties of AWS::SageMaker::Cluster are spelled like the
    members of the request: what the rules check is what is deployed, to the letter. The CDK holds
    it against the resource's schema all the same. It tags no generic resources, so the tags are in
    the request. CloudFormation waits until every instance group is in service.
    """

    def __init__(self, scope: Construct, id_: str, *, request: Mapping[str, Any]) -> None:
        super().__init__(scope, id_)
        cluster = CfnResource(
            self, "Cluster", type="AWS::SageMaker::Cluster", properties=dict(request)
        )
        Validations.of(cluster).acknowledge(
            Acknowledgment(
                id="CloudFormation-Validate::E3644",
                reason="its list of instance types lags behind the one of CreateCluster, "
                "against which the rules of this project have already checked every group",
            ),
            Acknowledgment(
                id="CloudFormation-Validate::F3006",
                reason="its list of Regions ends with the pinned version of the CDK; a rule warns "
                "of a Region that had no HyperPod then",
            ),
        )
        self.cluster_arn = cluster.get_att("ClusterArn").to_string()
