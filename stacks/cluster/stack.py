"""The cluster stack: the HyperPod cluster, and its outputs."""

from __future__ import annotations

from aws_cdk import CfnOutput, Fn, aws_ssm
from constructs import Construct

from slurmpod.deployment_record import record
from slurmpod.request import References, cluster_properties
from slurmpod.resolve import Resolved
from slurmpod_cdk.cluster.slurm_cluster import SlurmCluster
from slurmpod_cdk.database.stack import DatabaseServer
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.identity.stack import ExecutionRoles
from slurmpod_cdk.lifecycle.stack import LifecycleStack
from slurmpod_cdk.log_groups import CLUSTER_LOGS
from slurmpod_cdk.network.stack import ClusterNetwork
from slurmpod_cdk.storage.stack import FileSystems

CLUSTER_ID_OUTPUT = "ClusterId"
LOG_GROUP_OUTPUT = "LogGroup"


class ClusterStack(EnvironmentStack):
    """The part billed by the hour; it can be deleted and created again without losing data."""

    def __init__(
        self,
        scope: Construct,
        *,
        resolved: Resolved,
        network: ClusterNetwork,
        file_systems: FileSystems,
        database: DatabaseServer | None,
        lifecycle: LifecycleStack | None,
        roles: ExecutionRoles,
    ) -> None:
        super().__init__(
            scope,
            resolved.stacks.cluster,
            resolved=resolved,
            description=f"SageMaker HyperPod cluster {resolved.name} with Slurm",
        )
        first_lustre = resolved.lustre[0].name if resolved.lustre else None
        references = References(
            execution_role_arns=roles.arns,
            bundle_uri=lifecycle.bundle_uri if lifecycle else None,
            subnet_ids=network.subnet_ids,
            security_group_ids=network.security_group_ids,
            lustre=file_systems.lustre[first_lustre] if first_lustre else None,
            openzfs=file_systems.openzfs,
            database=database,
        )
        cluster = SlurmCluster(self, "Slurm", cluster_properties(resolved, references))
        deployed = DeployedEnvironment(self, "Deployed", resolved=resolved)
        deployed.node.add_dependency(cluster)
        self.cluster_arn = cluster.cluster_arn
        self._add_outputs(resolved.name)

    def _add_outputs(self, name: str) -> None:
        CfnOutput(self, "ClusterName", value=name, description="Name of the HyperPod cluster")
        CfnOutput(
            self, "ClusterArn", value=self.cluster_arn, description="ARN of the HyperPod cluster"
        )
        CfnOutput(
            self,
            CLUSTER_ID_OUTPUT,
            value=_id(self.cluster_arn),
            description="Id of the HyperPod cluster, with which its ARN ends",
        )
        CfnOutput(
            self,
            "SessionTarget",
            value=_session_target(self.cluster_arn),
            description="Target of aws ssm start-session; fill in instance group and instance id",
        )
        CfnOutput(
            self,
            LOG_GROUP_OUTPUT,
            value=_log_group(name, self.cluster_arn),
            description="Log group in CloudWatch to which nodes write from their first start on",
        )

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, for other stacks, which cannot parse the ARN.

        cfn-lint supports Fn::GetStackOutput inside Fn::Join, but not inside Fn::Split.
        """
        return Fn.get_stack_output(self.stack_name, CLUSTER_ID_OUTPUT, self.region)

    @property
    def log_group_name(self) -> str:
        """The log group of the nodes, for other stacks."""
        return Fn.get_stack_output(self.stack_name, LOG_GROUP_OUTPUT, self.region)


def _session_target(cluster_arn: str) -> str:
    """Return Session Manager's name of a node, with the cluster's id, which is only in its ARN."""
    return f"sagemaker-cluster:{_id(cluster_arn)}_<group>-<instance-id>"


def _log_group(name: str, cluster_arn: str) -> str:
    """Return the log group of a cluster's nodes (developer guide, "cluster resiliency")."""
    return f"{CLUSTER_LOGS}/{name}/{_id(cluster_arn)}"


def _id(cluster_arn: str) -> str:
    return Fn.select(1, Fn.split("/", cluster_arn))


class DeployedEnvironment(Construct):
    """The record of the deployed environment in Parameter Store, which `slurmpod diff` reads.

    It is written after everything else has been deployed.
    """

    def __init__(self, scope: Construct, id_: str, *, resolved: Resolved) -> None:
        super().__init__(scope, id_)
        for number, (name, value) in enumerate(record(resolved).items()):
            aws_ssm.StringParameter(
                self,
                f"Part{number}",
                parameter_name=name,
                string_value=value,
                description=f"The environment {resolved.name} as it was deployed last",
            )
