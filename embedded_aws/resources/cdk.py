"""The CDK's own resources: metadata, and the custom resources of its functions.

Each does what the function of aws-cdk-lib 2.275.0 does, without Lambda and without the AWS CLI.
"""

from __future__ import annotations

import io
import json
import mimetypes
import re
import zipfile
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from embedded_aws.errors import suppressed
from embedded_aws.ids import ids
from embedded_aws.resources.logs import require_usable_key
from embedded_aws.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client


class CdkMetadata(Provider):
    """A resource without any counterpart outside the stack."""

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
    """A resource that is one SDK call; the call defines its physical id."""

    supported = frozenset({"Create", "InstallLatestAwsSdk", "ServiceToken", "Update"})
    in_place = frozenset({"Create", "InstallLatestAwsSdk", "Update"})

    @abstractmethod
    def make(self, request: ResourceRequest, call: Mapping[str, Any]) -> None:
        """Make the call described in the template."""

    def create(self, request: ResourceRequest) -> str:
        """Make the call of a new resource."""
        return self._made(request, "Create")

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Make the call of a changed resource."""
        self._made(request, "Update")

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Do nothing: the effect of the call stays."""

    def _made(self, request: ResourceRequest, moment: str) -> str:
        call = json.loads(request.properties[moment])
        self.make(request, call)
        return str(call["physicalResourceId"]["id"])


class ClusterLogs(SdkCall):
    """One call of CloudWatch Logs: logs outlive the cluster."""

    type = "Custom::ClusterLogs"

    def make(self, request: ResourceRequest, call: Mapping[str, Any]) -> None:
        """Make the call, and ignore the error that it names."""
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
    """Root squash of a file system, which stays when the stack is deleted."""

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
        """Revoke the default rules, if they still exist."""
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
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Restrict the new group and restore the rules of the old one."""
        if _group(previous) != _group(request.properties):
            _give_back(request, previous)
            self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Restore the default rules."""
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
    """Deletion of all objects in a bucket."""

    type = "Custom::S3AutoDeleteObjects"
    supported = frozenset({"BucketName", "ServiceToken"})
    in_place = frozenset({"BucketName"})

    def create(self, request: ResourceRequest) -> str:
        """Do nothing until deletion."""
        return request.generated_name()

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Empty the bucket that is replaced."""
        if previous["BucketName"] != request.properties["BucketName"]:
            _empty(request.aws.s3, str(previous["BucketName"]))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
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
    """Yield every version of every object, including delete markers."""
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        yield from page.get("Versions", [])
        yield from page.get("DeleteMarkers", [])


_SWITCHES = ("Extract", "OutputObjectKeys", "Prune", "RetainOnDelete")
_OWNER_TAG = "aws-cdk:cr-owned"


class BucketDeployment(Provider):
    """Objects under a prefix of a bucket; Ref gives `aws.cdk.s3deployment.<uuid>`.

    Unpacks the assets of the staging bucket, fills in deploy-time values, and puts the files into
    the destination bucket (bucket-deployment-handler/index.py).
    """

    type = "Custom::CDKBucketDeployment"
    supported = frozenset(
        {
            *_SWITCHES,
            "DestinationBucketArn",
            "DestinationBucketKeyPrefix",
            "DestinationBucketName",
            "ServiceToken",
            "SourceBucketNames",
            "SourceMarkers",
            "SourceMarkersConfig",
            "SourceObjectKeys",
            "UserMetadata",
            "WaitForDistributionInvalidation",
        }
    )
    in_place = supported - {"ServiceToken"}

    def create(self, request: ResourceRequest) -> str:
        """Return a new id, as the function does before it starts."""
        return f"aws.cdk.s3deployment.{ids.uuid(request.logical_id)}"

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Put the files."""
        s3, bucket = request.aws.s3, _bucket(request.properties)
        prefix = _prefix(request.properties)
        files = {prefix + name: content for name, content in _files(s3, request.properties)}
        for key, content in files.items():
            s3.put_object(
                Bucket=bucket,
                Key=key,
                Body=content,
                ContentType=mimetypes.guess_type(key)[0] or "binary/octet-stream",
                Metadata=request.properties.get("UserMetadata", {}),
            )
        if _switch(request.properties, "Prune"):
            _delete(s3, bucket, [k for k in _keys(s3, bucket, prefix) if k not in files])

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the function's outputs."""
        keys = request.properties["SourceObjectKeys"]
        return {
            **request.given("DestinationBucketArn"),
            "SourceObjectKeys": keys if _switch(request.properties, "OutputObjectKeys") else [],
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Put the files again, and delete those at an old destination unless retained."""
        moved = (_bucket(previous), _prefix(previous)) != (
            _bucket(request.properties),
            _prefix(request.properties),
        )
        if moved and not _switch(request.properties, "RetainOnDelete"):
            s3, bucket = request.aws.s3, _bucket(previous)
            _delete(s3, bucket, list(_keys(s3, bucket, _prefix(previous))))
        self.complete(request, physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the objects, unless they are retained or another deployment owns them."""
        if _switch(request.properties, "RetainOnDelete"):
            return
        s3, bucket = request.aws.s3, _bucket(request.properties)
        prefix = _prefix(request.properties)
        if not _is_owned(s3, bucket, str(request.properties.get("DestinationBucketKeyPrefix", ""))):
            _delete(s3, bucket, list(_keys(s3, bucket, prefix)))


def _files(s3: S3Client, properties: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of every source, in order: later files replace earlier ones."""
    buckets, keys = properties["SourceBucketNames"], properties["SourceObjectKeys"]
    nothing: list[dict[str, Any]] = [{} for _ in keys]
    markers = properties.get("SourceMarkers") or nothing
    configs = properties.get("SourceMarkersConfig") or nothing
    if not len(buckets) == len(keys) == len(markers) == len(configs):
        raise ProviderError("Source buckets, keys and markers must be of the same number")
    for bucket, key, replacements, config in zip(buckets, keys, markers, configs, strict=True):
        content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        if not _switch(properties, "Extract"):
            yield key.rpartition("/")[2], content
            continue
        json_escape = str(config.get("jsonEscape", "false")).lower() == "true"
        yield from archive_files(content, replacements, json_escape=json_escape)


def _bucket(properties: Mapping[str, Any]) -> str:
    return str(properties["DestinationBucketName"])


def _prefix(properties: Mapping[str, Any]) -> str:
    """Return the prefix with a trailing slash."""
    prefix = str(properties.get("DestinationBucketKeyPrefix", "")).strip("/")
    return f"{prefix}/" if prefix else ""


def _switch(properties: Mapping[str, Any], name: str) -> bool:
    """Return a switch; all switches of the function are on by default."""
    return str(properties.get(name, "true")).lower() == "true"


def _keys(s3: S3Client, bucket: str, prefix: str) -> Iterator[str]:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        yield from (found["Key"] for found in page.get("Contents", []))


def _delete(s3: S3Client, bucket: str, keys: list[str]) -> None:
    for key in keys:
        s3.delete_object(Bucket=bucket, Key=key)


def _is_owned(s3: S3Client, bucket: str, prefix: str) -> bool:
    """Return whether the bucket's tags name a deployment that owns the prefix."""
    owner = f"{_OWNER_TAG}:{prefix}" if prefix else _OWNER_TAG
    tags = {tag["Key"] for tag in _bucket_tags(s3, bucket)}
    return any(tag.startswith(owner) for tag in tags)


def _bucket_tags(s3: S3Client, bucket: str) -> list[Any]:
    with suppressed("NoSuchTagSet"):
        return list(s3.get_bucket_tagging(Bucket=bucket)["TagSet"])
    return []


def archive_files(
    archive: bytes, markers: Mapping[str, object], *, json_escape: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of every file in a zip archive, with its markers replaced.

    With `json_escape`, replacements are escaped for use inside a JSON string.
    """
    replacements = {
        marker.encode(): _replacement(value, json_escape=json_escape)
        for marker, value in markers.items()
    }
    with zipfile.ZipFile(io.BytesIO(archive)) as zip_file:
        for entry in zip_file.infolist():
            if entry.is_dir():
                continue
            content = zip_file.read(entry)
            for marker, replacement in replacements.items():
                content = content.replace(marker, replacement)
            yield entry.filename, content


def _replacement(value: object, *, json_escape: bool) -> bytes:
    if not json_escape:
        return str(value).encode()
    text = json.dumps(value)
    is_text = text.startswith('"') and text.endswith('"')
    return (text[1:-1] if is_text else text).encode()
