"""A small environment with every kind of resource that a HyperPod environment has.

`app.py FOLDER` synthesizes each variant into a folder of its own: `updated` changes some resources
in place and replaces one, `broken` adds a resource that cannot be created, `unsupported` two whose
types the embedded AWS does not know, `doomed` has a cluster that the platform lets fail.
"""

import os
import sys
from pathlib import Path

from aws_cdk import App, CfnOutput, CfnResource, Duration, Environment, RemovalPolicy, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_deployment as s3_deployment
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

FLAGS = {
    "@aws-cdk/core:defaultCrossStackReferences": "weak",
    "@aws-cdk/aws-ec2:restrictDefaultSecurityGroup": True,
    "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": True,
}
VARIANTS = ("first", "updated", "broken", "unsupported", "doomed")
LIFECYCLE_FILES = Path(__file__).parent / "lifecycle"


class Network(Stack):
    """A VPC with one public and one private subnet in one zone."""

    def __init__(self, scope: Construct, name: str, *, zone: str, env: Environment) -> None:
        super().__init__(scope, name, env=env, termination_protection=True)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.1.0.0/16"),
            availability_zones=[zone],
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=28
                ),
                ec2.SubnetConfiguration(
                    name="nodes", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=24
                ),
            ],
            gateway_endpoints={
                "S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)
            },
            flow_logs={
                "Rejected": ec2.FlowLogOptions(
                    destination=ec2.FlowLogDestination.to_cloud_watch_logs(
                        logs.LogGroup(self, "FlowLogs", removal_policy=RemovalPolicy.DESTROY)
                    ),
                    traffic_type=ec2.FlowLogTrafficType.REJECT,
                )
            },
        )
        self.group = ec2.SecurityGroup(self, "Nodes", vpc=self.vpc, allow_all_outbound=True)
        group_id = self.group.security_group_id
        ec2.CfnSecurityGroupIngress(
            self, "In", group_id=group_id, ip_protocol="-1", source_security_group_id=group_id
        )
        ec2.CfnSecurityGroupEgress(
            self, "Out", group_id=group_id, ip_protocol="-1", destination_security_group_id=group_id
        )


class Storage(Stack):
    """A retained Lustre file system."""

    def __init__(
        self, scope: Construct, name: str, *, network: Network, capacity: int, env: Environment
    ) -> None:
        super().__init__(scope, name, env=env)
        self.file_system = fsx.CfnFileSystem(
            self,
            "Lustre",
            file_system_type="LUSTRE",
            file_system_type_version="2.15",
            storage_capacity=capacity,
            subnet_ids=[network.vpc.private_subnets[0].subnet_id],
            security_group_ids=[network.group.security_group_id],
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type="PERSISTENT_2",
                per_unit_storage_throughput=250,
                data_compression_type="LZ4",
            ),
        )
        self.file_system.apply_removal_policy(RemovalPolicy.RETAIN)
        CfnOutput(self, "FileSystemId", value=self.file_system.ref)


class Lifecycle(Stack):
    """The bucket of lifecycle scripts and what lies in it."""

    def __init__(
        self, scope: Construct, name: str, *, storage: Storage, variant: str, env: Environment
    ) -> None:
        super().__init__(scope, name, env=env)
        access_logs = s3.Bucket(
            self,
            "AccessLogs",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        logs.LogGroup(
            self,
            "Events",
            log_group_name=f"/functional-test/{variant}",
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.bucket = s3.Bucket(
            self,
            "Scripts",
            bucket_name=f"sagemaker-scripts-{self.account}-{self.region}",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            versioned=True,
            removal_policy=RemovalPolicy.RETAIN,
            server_access_logs_bucket=access_logs,
            server_access_logs_prefix="scripts/",
            lifecycle_rules=[
                s3.LifecycleRule(id="old", noncurrent_version_expiration=Duration.days(30))
            ],
        )
        settings = {
            "version": "1.0.0",
            "variant": variant,
            "fsx_dns_name": storage.file_system.attr_dns_name,
            "fsx_mountname": storage.file_system.attr_lustre_mount_name,
        }
        self.deployment = s3_deployment.BucketDeployment(
            self,
            "Files",
            destination_bucket=self.bucket,
            destination_key_prefix="lifecycle/v1",
            sources=[
                s3_deployment.Source.asset(str(LIFECYCLE_FILES)),
                s3_deployment.Source.json_data("provisioning_parameters.json", settings),
            ],
            prune=False,
            retain_on_delete=True,
        )


class Identity(Stack):
    """The role that cluster nodes have."""

    def __init__(self, scope: Construct, name: str, *, bucket: s3.Bucket, env: Environment) -> None:
        super().__init__(scope, name, env=env)
        self.role = iam.Role(
            self,
            "NodeRole",
            assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
            managed_policies=[
                iam.ManagedPolicy.from_aws_managed_policy_name(
                    "AmazonSageMakerClusterInstanceRolePolicy"
                )
            ],
            inline_policies={
                "network": iam.PolicyDocument(
                    statements=[
                        iam.PolicyStatement(
                            actions=["ec2:DescribeNetworkInterfaces"], resources=["*"]
                        )
                    ]
                )
            },
        )
        bucket.grant_read(self.role)


class Cluster(Stack):
    """The HyperPod cluster."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        network: Network,
        lifecycle: Lifecycle,
        role: iam.Role,
        cluster_name: str,
        env: Environment,
    ) -> None:
        super().__init__(scope, name, env=env)
        source = lifecycle.bucket.s3_url_for_object("lifecycle/v1")
        self.cluster = sagemaker.CfnCluster(
            self,
            "Cluster",
            cluster_name=cluster_name,
            node_recovery="Automatic",
            instance_groups=[
                self._group("controller", "ml.c5.large", 1, role, source),
                self._group("workers", "ml.c5.xlarge", 2, role, source),
            ],
            vpc_config=sagemaker.CfnCluster.VpcConfigProperty(
                security_group_ids=[network.group.security_group_id],
                subnets=[network.vpc.private_subnets[0].subnet_id],
            ),
        )
        CfnOutput(self, "ClusterArn", value=self.cluster.attr_cluster_arn)
        CfnOutput(self, "ClusterRef", value=self.cluster.ref)
        CfnOutput(self, "ClusterStatus", value=self.cluster.attr_cluster_status)

    def _group(
        self, name: str, instance_type: str, count: int, role: iam.Role, source: str
    ) -> sagemaker.CfnCluster.ClusterInstanceGroupProperty:
        return sagemaker.CfnCluster.ClusterInstanceGroupProperty(
            instance_group_name=name,
            instance_type=instance_type,
            instance_count=count,
            execution_role=role.role_arn,
            threads_per_core=1,
            life_cycle_config=sagemaker.CfnCluster.ClusterLifeCycleConfigProperty(
                source_s3_uri=source, on_create="on_create.sh"
            ),
            instance_storage_configs=[
                sagemaker.CfnCluster.ClusterInstanceStorageConfigProperty(
                    ebs_volume_config=sagemaker.CfnCluster.ClusterEbsVolumeConfigProperty(
                        volume_size_in_gb=500
                    )
                )
            ],
        )


def add_variant(network: Network, variant: str) -> None:
    """Change the network as the chosen variant says."""
    if variant == "updated":
        logs.LogGroup(network, "Added", removal_policy=RemovalPolicy.DESTROY)
    if variant == "broken":
        group = logs.LogGroup(network, "Temporary", removal_policy=RemovalPolicy.DESTROY)
        broken = CfnResource(
            network,
            "Broken",
            type="AWS::EC2::Subnet",
            properties={"VpcId": network.vpc.vpc_id, "CidrBlock": "192.168.0.0/24"},
        )
        broken.node.add_dependency(group)
    if variant == "unsupported":
        CfnResource(network, "Table", type="AWS::DynamoDB::Table")
        CfnResource(network, "Thing", type="Custom::Thing")


def synthesize(variant: str, folder: Path) -> None:
    """Synthesize one variant for the account and region that the CDK CLI would choose."""
    app = App(context=FLAGS, outdir=str(folder))
    env = Environment(
        account=os.environ["CDK_DEFAULT_ACCOUNT"], region=os.environ["CDK_DEFAULT_REGION"]
    )
    network = Network(app, "Network", zone=f"{env.region}a", env=env)
    add_variant(network, variant)
    capacity = 2400 if variant == "updated" else 1200
    storage = Storage(app, "Storage", network=network, capacity=capacity, env=env)
    lifecycle = Lifecycle(app, "Lifecycle", storage=storage, variant=variant, env=env)
    identity = Identity(app, "Identity", bucket=lifecycle.bucket, env=env)
    name = "doomed" if variant == "doomed" else "rehearsed"
    cluster = Cluster(
        app,
        f"Cluster-{name}",
        network=network,
        lifecycle=lifecycle,
        role=identity.role,
        cluster_name=name,
        env=env,
    )
    cluster.add_stack_dependency(lifecycle)
    Tags.of(app).add("environment", "functional-test")
    app.synth()


if __name__ == "__main__":
    for name in VARIANTS:
        synthesize(name, Path(sys.argv[1]) / name)
