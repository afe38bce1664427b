"""Wheels on the user's machine, and their copies in the environment's bucket.

They are beside the packages of `slurmpod artefacts mirror`, below the prefix that
nodes may read, each under its SHA-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved

if TYPE_CHECKING:
    from slurmpod.aws.bucket import Bucket  # the AWS SDK is only needed to copy


@dataclass(frozen=True)
class Wheel:
    """A file, its SHA-256, and the location of its copy."""

    file: Path
    sha256: str
    key: str
    address: str

    @property
    def name(self) -> str:
        """Its file name, with package, version and platform."""
        return self.file.name


def wheels_of(folder: Path, resolved: Resolved) -> tuple[Wheel, ...]:
    """Return the files of a folder by name; raises WorkFailed if it cannot be read."""
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
        return tuple(_wheel(path, resolved) for path in files)
    except OSError as error:
        raise WorkFailed(f"{folder} cannot be read: {error.strerror}") from None


def mirror_wheels(bucket: Bucket, wheels: Sequence[Wheel], tell: Callable[[str], None]) -> None:
    """Copy wheels that the bucket lacks; raises AwsUnavailable, and the next call continues."""
    for wheel in wheels:
        if bucket.has(wheel.key):
            tell(f"{wheel.name}: is in the bucket")
            continue
        bucket.put(wheel.key, wheel.file, wheel.sha256)
        tell(f"{wheel.name}: copied to {wheel.address}")


def _wheel(file: Path, resolved: Resolved) -> Wheel:
    with file.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    key = f"{resolved.lifecycle.prefix}/artefacts/{sha256}/{file.name}"
    return Wheel(file, sha256, key, f"s3://{resolved.lifecycle.bucket}/{key}")
