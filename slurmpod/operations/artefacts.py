"""Packages of an environment, copied from their publishers to its bucket.

Nodes fetch them from the bucket, their only source in a closed network. All packages are
downloaded and verified before the first is uploaded.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slurmpod.aws.bucket import Bucket
from slurmpod.bundle.settings import artefact_key
from slurmpod.environment.lifecycle import Artefact
from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved

TIMEOUT_SECONDS = 60


class NotMirrored(WorkFailed):
    """Nothing was uploaded; the text has the reason for each package."""


@dataclass(frozen=True)
class Mirrored:
    """A package, its key in the bucket, and whether it is there."""

    artefact: Artefact
    key: str
    is_there: bool


def mirrored(bucket: Bucket, resolved: Resolved) -> tuple[Mirrored, ...]:
    """Return all packages of an environment, and whether its bucket has them: AwsUnavailable."""
    keys = [
        (each, artefact_key(each, resolved)) for each in resolved.environment.lifecycle.artefacts
    ]
    return tuple(Mirrored(each, key, bucket.has(key)) for each, key in keys)


def mirror(bucket: Bucket, missing: Sequence[Mirrored], tell: Callable[[str], None]) -> None:
    """Download and verify missing packages, then upload them.

    Raises:
        NotMirrored: A download failed, or is not what the environment pins.
        AwsUnavailable: An upload failed; a repeated call continues the work.
    """
    with tempfile.TemporaryDirectory(prefix="slurmpod-artefacts-") as folder:
        files = {each.key: Path(folder) / each.artefact.sha256 for each in missing}
        problems = [_fetch(each.artefact, files[each.key], tell) for each in missing]
        if any(problems):
            raise NotMirrored("\n".join(filter(None, problems)))
        _upload(bucket, missing, files, tell)


def _upload(
    bucket: Bucket,
    missing: Sequence[Mirrored],
    files: Mapping[str, Path],
    tell: Callable[[str], None],
) -> None:
    for each in missing:
        bucket.put(each.key, files[each.key], each.artefact.sha256)
        tell(f"{title(each.artefact)}: is in s3://{bucket.name}/{each.key}")


def title(artefact: Artefact) -> str:
    """Return the display name of a package."""
    return f"{artefact.name} ({artefact.architecture})"


def _fetch(artefact: Artefact, file: Path, tell: Callable[[str], None]) -> str:
    """Download one package and return the problem, or an empty text."""
    tell(f"{title(artefact)}: from {artefact.url}")
    try:
        with (
            urllib.request.urlopen(artefact.url, timeout=TIMEOUT_SECONDS) as source,  # noqa: S310
            file.open("wb") as target,
        ):
            shutil.copyfileobj(source, target)
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        return f"{title(artefact)}: cannot fetch {artefact.url}: {reason}"
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found == artefact.sha256:
        return ""
    return (
        f"{title(artefact)}: {artefact.url} has the SHA-256\n  {found}, the environment says\n"
        f"  {artefact.sha256}: find out who changed it before you update it"
    )
