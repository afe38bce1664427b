"""Buckets that go with everything in them, and buckets that do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_stacks import Stacks, ref, resource, running_stacks

TAG = {"Key": "aws-cdk:auto-delete-objects", "Value": "true"}


@pytest.fixture(scope="module")
def stacks() -> Iterator[Stacks]:
    yield from running_stacks()


def bucket_and_its_end(name: str, *tags: dict[str, str]) -> dict[str, Any]:
    versioned = {"Status": "Enabled"}
    return {
        "Bucket": resource(
            "S3::Bucket", BucketName=name, VersioningConfiguration=versioned, Tags=list(tags)
        ),
        "End": {
            "Type": "Custom::S3AutoDeleteObjects",
            "Properties": {"ServiceToken": "function", "BucketName": ref("Bucket")},
        },
    }


def fill(stacks: Stacks, bucket: str) -> None:
    """Leave two versions of an object, and the mark of a deleted one."""
    s3 = stacks.clients.s3
    for content in (b"one", b"two"):
        s3.put_object(Bucket=bucket, Key="kept", Body=content)
    s3.put_object(Bucket=bucket, Key="gone", Body=b"")
    s3.delete_object(Bucket=bucket, Key="gone")


def test_a_bucket_goes_with_all_versions_of_its_objects(stacks: Stacks) -> None:
    assert stacks.deploy("end", bucket_and_its_end("end", TAG)).status == "CREATE_COMPLETE"
    fill(stacks, "end")
    assert stacks.delete("end").status == "DELETE_COMPLETE"
    names = [bucket["Name"] for bucket in stacks.clients.s3.list_buckets()["Buckets"]]
    assert "end" not in names


def test_a_bucket_whose_tag_was_taken_away_keeps_its_objects(stacks: Stacks) -> None:
    assert stacks.deploy("kept", bucket_and_its_end("kept", TAG)).status == "CREATE_COMPLETE"
    fill(stacks, "kept")
    stacks.clients.s3.delete_bucket_tagging(Bucket="kept")
    assert stacks.delete("kept").status == "DELETE_FAILED"
    listed = stacks.clients.s3.list_object_versions(Bucket="kept")
    assert len(listed["Versions"]) == 3


@pytest.mark.parametrize("region", ["us-east-1", "us-west-2"])
def test_a_bucket_that_is_there_already_is_nobody_elses_creation(
    stacks: Stacks, region: str
) -> None:
    aws = stacks.clients
    clients = Clients(endpoint=aws.endpoint, account=aws.account, region=region)
    home: Any = {"CreateBucketConfiguration": {"LocationConstraint": region}}
    clients.s3.create_bucket(Bucket=f"there-{region}", **({} if region == "us-east-1" else home))
    made = Stacks(clients).deploy(
        "there", {"Bucket": resource("S3::Bucket", BucketName=f"there-{region}")}
    )

    assert (made.status, made.reasons) == (
        "ROLLBACK_COMPLETE",
        f"there-{region} already exists",
    )
    assert clients.s3.head_bucket(Bucket=f"there-{region}")
