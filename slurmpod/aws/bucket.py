"""Single objects in a bucket: look up, upload and delete."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable, suppressed


@dataclass(frozen=True)
class Bucket:
    """A bucket, by name; each method raises AwsUnavailable when the request fails."""

    clients: AwsClients
    name: str

    def has(self, key: str) -> bool:
        """Return whether an object with this key exists."""
        with as_unavailable(f"look into the bucket {self.name}"):
            # HeadObject gives the same answer for a missing bucket and a missing object.
            self.clients.s3.head_bucket(Bucket=self.name)
            with suppressed("404"):
                self.clients.s3.head_object(Bucket=self.name, Key=key)
                return True
        return False

    def put(self, key: str, file: Path, sha256: str) -> None:
        """Upload a file, whole or not at all: S3 rejects content with another SHA-256."""
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        with as_unavailable(f"write to the bucket {self.name}"), file.open("rb") as body:
            self.clients.s3.put_object(
                Bucket=self.name, Key=key, Body=body, ChecksumSHA256=checksum
            )

    def remove(self, key: str) -> None:
        """Delete all versions of an object, so that a versioned bucket keeps none."""
        with as_unavailable(f"remove from the bucket {self.name}"):
            found = self.clients.s3.head_object(Bucket=self.name, Key=key)
            if "VersionId" in found:
                version = found["VersionId"]
                self.clients.s3.delete_object(Bucket=self.name, Key=key, VersionId=version)
            else:
                self.clients.s3.delete_object(Bucket=self.name, Key=key)
