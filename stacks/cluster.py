"""The cluster stack: the HyperPod cluster, and how to reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, Fn

from stacks.parts.environment_stack import EnvironmentStack
from stacks.parts.slurm_cluster import SlurmCluster

if TYPE_CHECKING:
    from constructs import Construct

    from slurmpod.resolve import Resolved
    from stacks.identity import IdentityStack
    from stacks.lifecycle import LifecycleStack
    from stacks.network import NetworkStack


class ClusterStack(EnvironmentStack):
    """The part that costs by the hour; it can be deleted and created again without losing data."""

    def __init__(
        self,
        scope: Construct,
        *,
        resolved: Resolved,
        network: NetworkStack,
        lifecycle: LifecycleStack,
        identity: IdentityStack,
    ) -> None:
        super().__init__(
            scope,
            resolved.stacks.cluster,
            resolved=resolved,
            description=f"SageMaker HyperPod cluster {resolved.name} with Slurm",
        )
        cluster = SlurmCluster(
            self,
            "Slurm",
            resolved=resolved,
            execution_role_arn=identity.execution_role_arn,
            bundle_uri=lifecycle.bundle_uri,
            subnet_id=network.private_subnet_id,
            security_group_id=network.security_group_id,
        )
        CfnOutput(
            self, "ClusterName", value=resolved.name, description="Name of the HyperPod cluster"
        )
        CfnOutput(
            self,
            "ClusterArn",
            value=cluster.cluster_arn,
            description="ARN of the HyperPod cluster",
        )
        CfnOutput(
            self,
            "SessionTarget",
            value=_session_target(cluster.cluster_arn),
            description="Target of aws ssm start-session; fill in instance group and instance id",
        )


def _session_target(cluster_arn: str) -> str:
    """Return how Session Manager names a node: by the cluster's id, which only its ARN holds."""
    cluster_id = Fn.select(1, Fn.split("/", cluster_arn))
    return f"sagemaker-cluster:{cluster_id}_<group>-<instance-id>"
