"""Resources that exist before anything is deployed, with given ids.

In an account these are the user's own: a VPC with its subnets, keys, buckets, file systems. Each is
created once; existing ones are left unchanged. The embedded AWS has to run in this process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.ids import (
    FILE_SYSTEM,
    IMAGE,
    KEY,
    MOUNT_NAME,
    ROUTE_TABLE,
    SECRET,
    SECURITY_GROUP,
    SUBNET,
    VPC,
    ids,
)

_LARGEST_PLAN, _PLAN_HOURS = 256, 24 * 182
"""Maximum number of instances in one reservation, and the hours of half a year (API reference,
SearchTrainingPlanOfferings and TrainingPlanExtension)."""
_ZONE_ID = re.compile(r"[a-z0-9]+-az[0-9]+")

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
"""Media type of container image manifests."""


class Existing:
    """Creates existing resources in one Region of the embedded AWS."""

    def __init__(self, aws: Clients) -> None:
        self._aws = aws
        self._ec2: Any = aws.service("ec2")

    def vpc(self, vpc_id: str, blocks: Sequence[str]) -> None:
        """Make a VPC; an existing one gets the missing CIDR blocks."""
        if not _is_there(self._ec2.describe_vpcs, VpcIds=[vpc_id]):
            with ids.choose(VPC, vpc_id):
                self._ec2.create_vpc(CidrBlock=blocks[0])
        (vpc,) = self._ec2.describe_vpcs(VpcIds=[vpc_id])["Vpcs"]
        present = {each["CidrBlock"] for each in vpc["CidrBlockAssociationSet"]}
        for block in blocks:
            if block not in present:
                self._ec2.associate_vpc_cidr_block(VpcId=vpc_id, CidrBlock=block)

    def subnet(self, subnet_id: str, vpc_id: str, *, cidr: str, zone: str) -> None:
        """Make a subnet in a zone, given by id or name."""
        if _is_there(self._ec2.describe_subnets, SubnetIds=[subnet_id]):
            return
        named_by = "AvailabilityZoneId" if _ZONE_ID.fullmatch(zone) else "AvailabilityZone"
        with ids.choose(SUBNET, subnet_id):
            self._ec2.create_subnet(VpcId=vpc_id, CidrBlock=cidr, **{named_by: zone})

    def security_group(self, group_id: str, vpc_id: str) -> None:
        """Make a group whose members reach each other, as HyperPod requires."""
        if _is_there(self._ec2.describe_security_groups, GroupIds=[group_id]):
            return
        with ids.choose(SECURITY_GROUP, group_id):
            self._ec2.create_security_group(GroupName=group_id, Description="nodes", VpcId=vpc_id)
        everything = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group_id}]}
        self._ec2.authorize_security_group_ingress(GroupId=group_id, IpPermissions=[everything])
        self._ec2.authorize_security_group_egress(GroupId=group_id, IpPermissions=[everything])

    def route_table(self, table_id: str, vpc_id: str) -> None:
        """Make a route table with the local route only."""
        if not _is_there(self._ec2.describe_route_tables, RouteTableIds=[table_id]):
            with ids.choose(ROUTE_TABLE, table_id):
                self._ec2.create_route_table(VpcId=vpc_id)

    def key(self, arn: str, policy: Mapping[str, Any]) -> None:
        """Make a KMS key with a key policy."""
        kms = self._aws.service("kms")
        if not _is_there(kms.describe_key, KeyId=arn):
            with ids.choose(KEY, arn.rpartition("/")[2]):
                kms.create_key(Policy=json.dumps(policy))

    def bucket(self, name: str) -> None:
        """Make an empty bucket."""
        if _is_there(self._aws.s3.head_bucket, Bucket=name):
            return
        region = self._aws.region
        home: Any = {"CreateBucketConfiguration": {"LocationConstraint": region}}
        self._aws.s3.create_bucket(Bucket=name, **({} if region == "us-east-1" else home))

    def model(self, bucket: str, key: str) -> None:
        """Put an empty model into a bucket: an archive, or a file in a folder."""
        name = f"{key}config.json" if key.endswith("/") else key
        if not _is_there(self._aws.s3.head_object, Bucket=bucket, Key=name):
            self._aws.s3.put_object(Bucket=bucket, Key=name, Body=b"{}")

    def container_image(self, repository: str, version: str) -> None:
        """Make an ECR repository with an image of this tag, or without an image for a digest."""
        ecr = self._aws.service("ecr")
        if not _is_there(ecr.describe_repositories, repositoryNames=[repository]):
            ecr.create_repository(repositoryName=repository)
        known = {"repositoryName": repository, "imageIds": [{"imageTag": version}]}
        if not version.startswith("sha256:") and not ecr.batch_get_image(**known)["images"]:
            manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "annotations": {"tag": version}}
            ecr.put_image(
                repositoryName=repository, imageTag=version, imageManifest=json.dumps(manifest)
            )

    def secret(self, arn: str, content: Mapping[str, str]) -> None:
        """Make a secret; its name is in its ARN."""
        manager = self._aws.service("secretsmanager")
        if not _is_there(manager.describe_secret, SecretId=arn):
            name = arn.rpartition(":")[2].rpartition("-")[0]
            with ids.choose(SECRET, arn):
                manager.create_secret(Name=name, SecretString=json.dumps(content))

    def topic(self, arn: str) -> None:
        """Make an SNS topic, unless it exists."""
        self._aws.service("sns").create_topic(Name=arn.rpartition(":")[2])

    def endpoints(self, vpc_id: str, services: Sequence[str]) -> None:
        """Make the missing endpoints of a VPC: a gateway for S3, interfaces for other services."""
        found = self._ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])
        there = {each["ServiceName"] for each in found["VpcEndpoints"]}
        for service in services:
            name = f"com.amazonaws.{self._aws.region}.{service}"
            kind = "Gateway" if service == "s3" else "Interface"
            if name not in there:
                self._ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=name, VpcEndpointType=kind)

    def image(self, image_id: str) -> None:
        """Make a machine image without a known architecture."""
        wanted = [{"Name": "image-id", "Values": [image_id]}]
        if not self._ec2.describe_images(Filters=wanted)["Images"]:
            with ids.choose(IMAGE, image_id):
                self._ec2.register_image(Name=image_id)

    def lustre(self, file_system_id: str, mount_name: str, place: Mapping[str, Any]) -> None:
        """Make an FSx for Lustre file system; `place` has its SubnetIds and SecurityGroupIds."""
        with ids.choose(MOUNT_NAME, mount_name):
            self._file_system(
                file_system_id,
                FileSystemType="LUSTRE",
                StorageCapacity=1200,
                LustreConfiguration={"DeploymentType": "SCRATCH_2"},
                **place,
            )

    def openzfs(self, file_system_id: str, place: Mapping[str, Any]) -> None:
        """Make an FSx for OpenZFS file system; `place` has its SubnetIds and SecurityGroupIds."""
        settings = {"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 64}
        self._file_system(
            file_system_id,
            FileSystemType="OPENZFS",
            StorageCapacity=64,
            OpenZFSConfiguration=settings,
            **place,
        )

    def training_plan(self, arn: str, *, instance_type: str, zone: str) -> None:
        """Reserve the maximum number of instances of a type in a zone, from now on."""
        sagemaker: Any = self._aws.sagemaker
        if _is_there(sagemaker.describe_training_plan, TrainingPlanName=arn):
            return
        wanted = {"InstanceType": instance_type, "InstanceCount": _LARGEST_PLAN}
        offered = sagemaker.search_training_plan_offerings(**wanted, DurationHours=_PLAN_HOURS)
        named_by = "ZoneId" if _ZONE_ID.fullmatch(zone) else "ZoneName"
        (name,) = (
            each["ZoneName"]
            for each in self._ec2.describe_availability_zones()["AvailabilityZones"]
            if each[named_by] == zone
        )
        (offering,) = (
            each["TrainingPlanOfferingId"]
            for each in offered["TrainingPlanOfferings"]
            if each["ReservedCapacityOfferings"][0]["AvailabilityZone"] == name
        )
        sagemaker.create_training_plan(
            TrainingPlanName=arn.rpartition("/")[2], TrainingPlanOfferingId=offering
        )

    def _file_system(self, file_system_id: str, **given: Any) -> None:
        fsx: Any = self._aws.fsx
        if not _is_there(fsx.describe_file_systems, FileSystemIds=[file_system_id]):
            with ids.choose(FILE_SYSTEM, file_system_id):
                fsx.create_file_system(**given)


def _is_there(describe: Callable[..., Any], **which: Any) -> bool:
    try:
        describe(**which)
    except ClientError:
        return False
    return True
