"""The CDK's own resources: metadata, and what its functions for custom resources do.

Each does what the function of aws-cdk-lib 2.275.0 does, without Lambda.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from embedded_aws.errors import suppressed
from embedded_aws.resources.logs import require_usable_key
from embedded_aws.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client


class CdkMetadata(Provider):
    """A resource that exists in the stack only."""

    type = "AWS::CDK::Metadata"
    supported = frozenset({"Analytics"})
    in_place = supported

    def create(self, request: ResourceRequest) -> str:
        """Return a name."""
        return request.generated_name()

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Do nothing."""

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Do nothing."""


class SdkCall(Provider):
    """A resource that is one call; it is named as the call says."""

    supported = frozenset({"Create", "InstallLatestAwsSdk", "ServiceToken", "Update"})
    in_place = frozenset({"Create", "InstallLatestAwsSdk", "Update"})

    @abstractmethod
    def make(self, request: ResourceRequest, call: Mapping[str, Any]) -> None:
        """Make the call as the template describes it."""

    def create(self, request: ResourceRequest) -> str:
        """Make the call of a new resource."""
        return self._made(request, "Create")

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Make the call of a changed resource."""
        self._made(request, "Update")

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Do nothing: what the call has done stays."""

    def _made(self, request: ResourceRequest, moment: str) -> str:
        call = json.loads(request.properties[moment])
        self.make(request, call)
        return str(call["physicalResourceId"]["id"])


class ClusterLogs(SdkCall):
    """One call of CloudWatch Logs: logs outlive the cluster."""

    type = "Custom::ClusterLogs"

    def make(self, request: ResourceRequest, call: Mapping[str, Any]) -> None:
        """Make the call, and pass over the error that it names."""
        parameters = call["parameters"]
        if "kmsKeyId" in parameters:
            require_usable_key(request.aws, parameters["kmsKeyId"], parameters["logGroupName"])
        logs = request.aws.service("logs")
        names = {api: method for method, api in logs.meta.method_to_api_mapping.items()}
        try:
            getattr(logs, names[call["action"]])(**parameters)
        except ClientError as error:
            if not re.search(call["ignoreErrorCodesMatching"], error.response["Error"]["Code"]):
                raise


class LustreRootSquash(SdkCall):
    """Whom root of a node becomes on a file system: a stack that goes opens no files to root."""

    type = "Custom::LustreRootSquash"

    def make(self, request: ResourceRequest, call: Mapping[str, Any]) -> None:
        """Change the file system."""
        request.aws.fsx.update_file_system(**call["parameters"])


_EGRESS: Any = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}


class RestrictDefaultSecurityGroup(Provider):
    """A default security group without rules."""

    type = "Custom::VpcRestrictDefaultSG"
    supported = frozenset({"Account", "DefaultSecurityGroupId", "ServiceToken"})
    in_place = frozenset({"Account", "DefaultSecurityGroupId"})

    def create(self, request: ResourceRequest) -> str:
        """Revoke the rules, where they are still there."""
        group_id, account = _group(request.properties)
        ec2 = request.aws.ec2
        for revoke, permission in (
            (ec2.revoke_security_group_egress, _EGRESS),
            (ec2.revoke_security_group_ingress, _ingress(group_id, account)),
        ):
            with suppressed("InvalidPermission.NotFound"):
                revoke(GroupId=group_id, IpPermissions=[permission])
        return request.generated_name()

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],
    ) -> None:
        """Restrict the new group and free the old one."""
        if _group(previous) != _group(request.properties):
            _give_back(request, previous)
            self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: ARG002
        """Give the rules back."""
        _give_back(request, request.properties)


def _give_back(request: ResourceRequest, properties: Mapping[str, Any]) -> None:
    group_id, account = _group(properties)
    request.aws.ec2.authorize_security_group_ingress(
        GroupId=group_id, IpPermissions=[_ingress(group_id, account)]
    )
    request.aws.ec2.authorize_security_group_egress(GroupId=group_id, IpPermissions=[_EGRESS])


def _group(properties: Mapping[str, Any]) -> tuple[str, str]:
    return str(properties["DefaultSecurityGroupId"]), str(properties["Account"])


def _ingress(group_id: str, account: str) -> Any:
    return {
        "IpProtocol": "-1",
        "UserIdGroupPairs": [{"GroupId": group_id, "UserId": account}],
    }


TAG = {"Key": "aws-cdk:auto-delete-objects", "Value": "true"}


class AutoDeleteObjects(Provider):
    """The end of everything in a bucket."""

    type = "Custom::S3AutoDeleteObjects"
    supported = frozenset({"BucketName", "ServiceToken"})
    in_place = frozenset({"BucketName"})

    def create(self, request: ResourceRequest) -> str:
        """Do nothing yet."""
        return request.generated_name()

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],
    ) -> None:
        """Empty the bucket that another one replaces."""
        if previous["BucketName"] != request.properties["BucketName"]:
            _empty(request.aws.s3, str(previous["BucketName"]))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: ARG002
        """Empty the bucket."""
        _empty(request.aws.s3, str(request.properties["BucketName"]))


def _empty(s3: S3Client, bucket: str) -> None:
    if not _is_asked_for(s3, bucket):
        return
    for version in _versions(s3, bucket):
        s3.delete_object(Bucket=bucket, Key=version["Key"], VersionId=version["VersionId"])


def _is_asked_for(s3: S3Client, bucket: str) -> bool:
    with suppressed("NoSuchBucket", "NoSuchTagSet"):
        return TAG in s3.get_bucket_tagging(Bucket=bucket)["TagSet"]
    return False


def _versions(s3: S3Client, bucket: str) -> Iterator[Any]:
    """Yield every version of every object, deletion marks among them."""
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        yield from page.get("Versions", [])
        yield from page.get("DeleteMarkers", [])
