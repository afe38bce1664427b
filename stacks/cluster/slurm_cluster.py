"""The HyperPod cluster itself."""

from __future__ import annotations

from aws_cdk import Acknowledgment, CfnResource, Validations
from constructs import Construct

from slurmpod.request import ClusterProperties, request_for
from slurmpod.rules.plain_settings import mistakes_of_cluster
from slurmpod_cdk.given_properties import make_after, refuse


class SlurmCluster(Construct):
    """A cluster with Slurm, created after the resources that its properties refer to.

    It is a generic resource, because the properties of AWS::SageMaker::Cluster are spelled like the
    members of the request: the rules check exactly what is deployed. The CDK still validates it
    against the resource's schema, but does not tag generic resources, so the tags are in the
    request. CloudFormation waits until every instance group is in service.
    """

    def __init__(self, scope: Construct, id_: str, properties: ClusterProperties) -> None:
        """Make a cluster.

        Raises:
            WrongProperties: HyperPod would refuse to create this cluster.
        """
        super().__init__(scope, id_)
        refuse(self, mistakes_of_cluster(properties))
        cluster = CfnResource(
            self, "Cluster", type="AWS::SageMaker::Cluster", properties=request_for(properties)
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
        make_after(
            cluster,
            *properties.security_groups,
            *(group.execution_role for group in properties.groups),
            properties.lifecycle,
            properties.lustre,
            properties.openzfs,
        )
        self.cluster_arn = cluster.get_att("ClusterArn").to_string()
