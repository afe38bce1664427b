"""The HyperPod cluster itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Acknowledgment, Validations
from aws_cdk.aws_sagemaker import CfnCluster
from constructs import Construct

if TYPE_CHECKING:
    from slurmpod.resolve import Resolved, ResolvedGroup


class SlurmCluster(Construct):
    """A cluster whose nodes set themselves up with the bundle at `bundle_uri`.

    CloudFormation waits until every instance group is in service.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        execution_role_arn: str,
        bundle_uri: str,
        subnet_id: str,
        security_group_id: str,
    ) -> None:
        super().__init__(scope, id_)
        lifecycle = CfnCluster.ClusterLifeCycleConfigProperty(
            source_s3_uri=bundle_uri, on_create=resolved.lifecycle.entry_script
        )
        cluster = CfnCluster(
            self,
            "Cluster",
            cluster_name=resolved.name,
            node_recovery=resolved.node_recovery,
            instance_groups=[
                _instance_group(group, execution_role_arn, lifecycle) for group in resolved.groups
            ],
            vpc_config=CfnCluster.VpcConfigProperty(
                security_group_ids=[security_group_id], subnets=[subnet_id]
            ),
        )
        Validations.of(cluster).acknowledge(
            Acknowledgment(
                id="CloudFormation-Validate::E3644",
                reason="its list of instance types lags behind the one of CreateCluster, "
                "against which the rules of this project have already checked every group",
            )
        )
        self.cluster_arn = cluster.attr_cluster_arn


def _instance_group(
    group: ResolvedGroup,
    execution_role_arn: str,
    lifecycle: CfnCluster.ClusterLifeCycleConfigProperty,
) -> CfnCluster.ClusterInstanceGroupProperty:
    return CfnCluster.ClusterInstanceGroupProperty(
        instance_group_name=group.name,
        instance_type=group.instance_type,
        instance_count=group.count,
        threads_per_core=group.threads_per_core,
        execution_role=execution_role_arn,
        life_cycle_config=lifecycle,
        instance_storage_configs=_additional_volume(group.volume_gib),
    )


def _additional_volume(
    volume_gib: int | None,
) -> list[CfnCluster.ClusterInstanceStorageConfigProperty] | None:
    if volume_gib is None:
        return None
    return [
        CfnCluster.ClusterInstanceStorageConfigProperty(
            ebs_volume_config=CfnCluster.ClusterEbsVolumeConfigProperty(
                volume_size_in_gb=volume_gib
            )
        )
    ]
