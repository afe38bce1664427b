"""Single objects in one bucket: whether one is there, and putting one there."""

from __future__ import annotations

import base64
from functools import cached_property
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from slurmpod.aws.errors import as_unavailable
from slurmpod.aws.session import session_of

if TYPE_CHECKING:
    from pathlib import Path

    import boto3
    from types_boto3_s3 import S3Client


def bucket_of(region: str, name: str) -> Bucket:
    """Return a bucket of the account that the user's settings name.

    Raises:
        AwsUnavailable: The settings name a profile that is not there.
    """
    return Bucket(session_of(region), name)


class Bucket:
    """A bucket by its name; each method raises AwsUnavailable when AWS does not do it."""

    def __init__(
        self, session: boto3.session.Session, name: str, *, endpoint_url: str | None = None
    ) -> None:
        self.name = name
        self._session = session
        self._endpoint_url = endpoint_url

    def has(self, key: str) -> bool:
        """Tell whether there is an object of this key."""
        with as_unavailable(f"look into the bucket {self.name}"):
            self._s3.head_bucket(Bucket=self.name)  # of a missing object it says no more than 404
            try:
                self._s3.head_object(Bucket=self.name, Key=key)
            except ClientError as error:
                if error.response["Error"]["Code"] == "404":
                    return False
                raise
        return True

    def put(self, key: str, file: Path, sha256: str) -> None:
        """Put a file there, whole or not at all: S3 refuses what has another SHA-256."""
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        with as_unavailable(f"write to the bucket {self.name}"), file.open("rb") as body:
            self._s3.put_object(Bucket=self.name, Key=key, Body=body, ChecksumSHA256=checksum)

    @cached_property
    def _s3(self) -> S3Client:
        return self._session.client("s3", endpoint_url=self._endpoint_url)
