"""Single objects in one bucket: whether one is there, putting one there, and removing it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable, suppressed


@dataclass(frozen=True)
class Bucket:
    """A bucket by its name; each method raises AwsUnavailable when AWS does not do it."""

    clients: AwsClients
    name: str

    def has(self, key: str) -> bool:
        """Return whether there is an object of this key."""
        with as_unavailable(f"look into the bucket {self.name}"):
            # HeadObject has the same answer for a missing bucket as for a missing object.
            self.clients.s3.head_bucket(Bucket=self.name)
            with suppressed("404"):
                self.clients.s3.head_object(Bucket=self.name, Key=key)
                return True
        return False

    def put(self, key: str, file: Path, sha256: str) -> None:
        """Put a file there, whole or not at all: S3 refuses what has another SHA-256."""
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        with as_unavailable(f"write to the bucket {self.name}"), file.open("rb") as body:
            self.clients.s3.put_object(
                Bucket=self.name, Key=key, Body=body, ChecksumSHA256=checksum
            )

    def remove(self, key: str) -> None:
        """Remove an object, and not only hide it where the bucket keeps versions."""
        with as_unavailable(f"remove from the bucket {self.name}"):
            found = self.clients.s3.head_object(Bucket=self.name, Key=key)
            if "VersionId" in found:
                version = found["VersionId"]
                self.clients.s3.delete_object(Bucket=self.name, Key=key, VersionId=version)
            else:
                self.clients.s3.delete_object(Bucket=self.name, Key=key)
