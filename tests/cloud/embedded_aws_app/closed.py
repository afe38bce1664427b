"""An environment without a way to the internet, with every kind of storage and what watches it.

`closed.py FOLDER` synthesizes two variants, `first` and `updated`, each into a folder of its own.
"""

import os
import sys
from pathlib import Path
from typing import Any

from aws_cdk import App, BootstraplessSynthesizer, CfnOutput, Environment, RemovalPolicy, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

FLAGS = {"@aws-cdk/core:defaultCrossStackReferences": "weak"}
VARIANTS = ("first", "updated")
ENDPOINTS = ("ecr.api", "ecr.dkr", "logs", "sagemaker.api", "ssm", "sts")
ZONE_IDS = ("usw2-az1", "usw2-az2")


class ClosedNetwork(Stack):
    """Two isolated subnets in a secondary block of a VPC, and endpoints for what nodes need."""

    def __init__(self, scope: Construct, name: str, **options: Any) -> None:
        super().__init__(scope, name, **options)
        self.vpc = ec2.CfnVPC(
            self,
            "Vpc",
            cidr_block="10.0.0.0/24",
            enable_dns_hostnames=True,
            enable_dns_support=True,
        )
        block = ec2.CfnVPCCidrBlock(self, "Block", vpc_id=self.vpc.ref, cidr_block="100.64.0.0/16")
        self.table = ec2.CfnRouteTable(self, "Table", vpc_id=self.vpc.ref)
        self.subnets = [self._subnet(number, zone) for number, zone in enumerate(ZONE_IDS)]
        for subnet in self.subnets:
            subnet.add_dependency(block)
        self.group = self._group()
        self._endpoints()
        self._flow_logs()

    def _subnet(self, number: int, zone_id: str) -> ec2.CfnSubnet:
        subnet = ec2.CfnSubnet(
            self,
            f"Subnet{number}",
            vpc_id=self.vpc.ref,
            cidr_block=f"100.64.{number}.0/24",
            availability_zone_id=zone_id,
        )
        ec2.CfnSubnetRouteTableAssociation(
            self, f"Of{number}", route_table_id=self.table.ref, subnet_id=subnet.ref
        )
        return subnet

    def _group(self) -> ec2.CfnSecurityGroup:
        group = ec2.CfnSecurityGroup(
            self, "Nodes", vpc_id=self.vpc.ref, group_description="nodes and file systems"
        )
        ec2.CfnSecurityGroupIngress(
            self,
            "In",
            group_id=group.attr_group_id,
            ip_protocol="-1",
            source_security_group_id=group.attr_group_id,
        )
        ec2.CfnSecurityGroupEgress(
            self,
            "Out",
            group_id=group.attr_group_id,
            ip_protocol="-1",
            destination_security_group_id=group.attr_group_id,
        )
        return group

    def _endpoints(self) -> None:
        policy = iam.PolicyDocument(
            statements=[
                iam.PolicyStatement(
                    principals=[iam.AnyPrincipal()], actions=["s3:GetObject"], resources=["*"]
                )
            ]
        )
        ec2.CfnVPCEndpoint(
            self,
            "S3",
            vpc_id=self.vpc.ref,
            service_name=f"com.amazonaws.{self.region}.s3",
            route_table_ids=[self.table.ref],
            policy_document=policy,
        )
        for service in ENDPOINTS:
            ec2.CfnVPCEndpoint(
                self,
                f"To{service}",
                vpc_id=self.vpc.ref,
                service_name=f"com.amazonaws.{self.region}.{service}",
                vpc_endpoint_type="Interface",
                subnet_ids=[subnet.ref for subnet in self.subnets],
                security_group_ids=[self.group.attr_group_id],
                private_dns_enabled=True,
            )

    def _flow_logs(self) -> None:
        bucket = s3.Bucket(self, "Flows", removal_policy=RemovalPolicy.DESTROY)
        ec2.CfnFlowLog(
            self,
            "Rejected",
            resource_id=self.vpc.ref,
            resource_type="VPC",
            traffic_type="REJECT",
            log_destination_type="s3",
            log_destination=bucket.arn_for_objects("vpc/"),
        )


class FileSystems(Stack):
    """OpenZFS for homes, Lustre linked to a bucket, and Lustre that grows by itself."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        network: ClosedNetwork,
        updated: bool,
        **options: Any,
    ) -> None:
        super().__init__(scope, name, **options)
        place: dict[str, Any] = {
            "subnet_ids": [network.subnets[0].ref],
            "security_group_ids": [network.group.attr_group_id],
        }
        key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=RemovalPolicy.DESTROY)
        homes = fsx.CfnFileSystem(
            self,
            "Homes",
            file_system_type="OPENZFS",
            storage_capacity=512 if updated else 256,
            kms_key_id=key.key_arn,
            open_zfs_configuration=fsx.CfnFileSystem.OpenZFSConfigurationProperty(
                deployment_type="SINGLE_AZ_HA_2",
                throughput_capacity=160,
                disk_iops_configuration=fsx.CfnFileSystem.DiskIopsConfigurationProperty(
                    mode="USER_PROVISIONED", iops=3000
                ),
                root_volume_configuration=fsx.CfnFileSystem.RootVolumeConfigurationProperty(
                    data_compression_type="ZSTD"
                ),
                options=["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"],
            ),
            **place,
        )
        fast = fsx.CfnFileSystem(
            self,
            "Fast",
            file_system_type="LUSTRE",
            file_system_type_version="2.15",
            storage_capacity=9600 if updated else 4800,
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type="PERSISTENT_2",
                per_unit_storage_throughput=1000,
                efa_enabled=True,
                metadata_configuration=fsx.CfnFileSystem.MetadataConfigurationProperty(
                    mode="USER_PROVISIONED", iops=12000 if updated else 6000
                ),
            ),
            **place,
        )
        large = fsx.CfnFileSystem(
            self,
            "Large",
            file_system_type="LUSTRE",
            file_system_type_version="2.15",
            storage_type="INTELLIGENT_TIERING",
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type="PERSISTENT_2",
                throughput_capacity=8000 if updated else 4000,
                data_read_cache_configuration=fsx.CfnFileSystem.DataReadCacheConfigurationProperty(
                    sizing_mode="PROPORTIONAL_TO_THROUGHPUT_CAPACITY"
                ),
                metadata_configuration=fsx.CfnFileSystem.MetadataConfigurationProperty(
                    mode="USER_PROVISIONED", iops=6000
                ),
            ),
            **place,
        )
        data = s3.Bucket(self, "Data", removal_policy=RemovalPolicy.DESTROY)
        fsx.CfnDataRepositoryAssociation(
            self,
            "Images",
            file_system_id=fast.ref,
            file_system_path="/images",
            data_repository_path=data.s3_url_for_object("images/"),
            batch_import_meta_data_on_create=True,
            s3=fsx.CfnDataRepositoryAssociation.S3Property(
                auto_import_policy=fsx.CfnDataRepositoryAssociation.AutoImportPolicyProperty(
                    events=["NEW"] if updated else ["NEW", "CHANGED", "DELETED"]
                )
            ),
        )
        CfnOutput(self, "HomesVolume", value=homes.attr_root_volume_id)
        for name_, made in (("Homes", homes), ("Fast", fast), ("Large", large)):
            CfnOutput(self, f"{name_}Id", value=made.ref)


class Watch(Stack):
    """A key, a log group, alarms that tell a topic, a rule and a secret."""

    def __init__(self, scope: Construct, name: str, *, updated: bool, **options: Any) -> None:
        super().__init__(scope, name, **options)
        key = kms.Key(self, "Key", alias="pod", removal_policy=RemovalPolicy.DESTROY)
        key.grant_encrypt_decrypt(iam.ServicePrincipal(f"logs.{self.region}.amazonaws.com"))
        group = logs.LogGroup(
            self, "Events", encryption_key=key, removal_policy=RemovalPolicy.DESTROY
        )
        group.node.add_dependency(key)
        topic = sns.Topic(self, "Alerts", master_key=key, enforce_ssl=True)
        topic.add_subscription(subscriptions.EmailSubscription("ops@example.com"))
        metric = cloudwatch.Metric(namespace="Slurm", metric_name="NodesDown")
        alarm = metric.create_alarm(
            self, "Down", threshold=2 if updated else 1, evaluation_periods=1
        )
        alarm.add_alarm_action(actions.SnsAction(topic))
        events.Rule(
            self,
            "Changes",
            event_pattern=events.EventPattern(source=["aws.sagemaker"]),
            targets=[targets.SnsTopic(topic)],
        )
        secretsmanager.Secret(
            self,
            "Database",
            encryption_key=key,
            generate_secret_string=secretsmanager.SecretStringGenerator(
                secret_string_template='{"username": "slurm"}',
                generate_string_key="password",
                exclude_punctuation=True,
            ),
        )
        CfnOutput(self, "TopicArn", value=topic.topic_arn)


def synthesize(variant: str, folder: Path) -> None:
    """Synthesize one variant for the account and region that the CDK CLI would choose."""
    app = App(context=FLAGS, outdir=str(folder))
    env = Environment(
        account=os.environ["CDK_DEFAULT_ACCOUNT"], region=os.environ["CDK_DEFAULT_REGION"]
    )

    def options() -> dict[str, Any]:
        return {"env": env, "synthesizer": BootstraplessSynthesizer()}

    updated = variant == "updated"
    network = ClosedNetwork(app, "ClosedNetwork", **options())
    FileSystems(app, "FileSystems", network=network, updated=updated, **options())
    Watch(app, "Watch", updated=updated, **options())
    app.synth()


if __name__ == "__main__":
    for name in VARIANTS:
        synthesize(name, Path(sys.argv[1]) / name)
