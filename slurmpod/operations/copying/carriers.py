"""Transfer of large files to a node: through a bucket that its role reads, or in many sessions."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from slurmpod.operations.copying.packs import Pack
from slurmpod.operations.node_shell import NodeShell
from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved

if TYPE_CHECKING:
    from slurmpod.aws.bucket import Bucket  # the AWS SDK is only needed to copy

CHUNK = 50_000
"""Characters per session: a Session Manager command may have 65535 (API reference,
StartSession), including the text around the data."""

SESSION_BYTES = 20_000_000
"""The most bytes to transfer through sessions: 600 of them, which take minutes."""

ARRIVING = "~/.cache/slurmpod/arriving"


class NotCarried(WorkFailed):
    """A transfer failed: there is no bucket, or the files are too large for sessions."""


class Carrier(Protocol):
    """A transfer to a node."""

    def carry(self, shell: NodeShell, pack: Pack) -> Mapping[str, str]:
        """Bring data near the node; return where the node finds it. Raises WorkFailed."""
        ...


class SessionCarrier:
    """Transfer through sessions, one per part; parts that have arrived are not sent again."""

    def carry(self, shell: NodeShell, pack: Pack) -> Mapping[str, str]:
        """Append the missing parts to a file of the user on the node."""
        if pack.file.stat().st_size > SESSION_BYTES:
            size = pack.file.stat().st_size / 1e6
            raise NotCarried(
                f"{size:.0f} MB are too much for sessions, and there is no bucket: exclude data"
                " with .slurmpodignore, or copy the folder by hand"
            )
        text = base64.b64encode(pack.file.read_bytes()).decode()
        file = f"{ARRIVING}/{pack.sha256}"
        begin = f"mkdir -p {ARRIVING} && touch {file} && stat -c %s {file}"
        for start in range(int(shell.run(begin)), len(text), CHUNK):
            shell.run(f"printf %s {shlex.quote(text[start : start + CHUNK])} >> {file}")
        return {"file": file, "sha256": pack.sha256}


@dataclass
class BucketCarrier:
    """Transfer through a bucket that the node's role reads; `prefix` ends with a slash."""

    bucket: Bucket
    prefix: str
    region: str
    _keys: list[str] = field(default_factory=list)

    @property
    def needs(self) -> str:
        """The permission that the nodes' role needs."""
        return f"s3:GetObject on s3://{self.bucket.name}/{self.prefix}*"

    def carry(self, shell: NodeShell, pack: Pack) -> Mapping[str, str]:
        """Upload the data, unless an interrupted copy has done so."""
        del shell
        key = f"{self.prefix}{pack.sha256}"
        try:
            if not self.bucket.has(key):
                self.bucket.put(key, pack.file, pack.sha256)
        except WorkFailed as refused:
            raise NotCarried(str(refused)) from None
        self._keys.append(key)
        address = f"s3://{self.bucket.name}/{key}"
        return {"s3": address, "region": self.region, "sha256": pack.sha256}

    def clear(self) -> None:
        """Delete from the bucket what the node has fetched; raises AwsUnavailable."""
        while self._keys:
            self.bucket.remove(self._keys.pop())


def place_for_copies(resolved: Resolved) -> tuple[str, str] | None:
    """Return a bucket, and the prefix in it, that the nodes' role reads; None without any.

    It is the bucket of the lifecycle scripts, or without scripts the first data bucket.
    """
    if resolved.lifecycle.mode != "managed":
        return resolved.lifecycle.bucket, f"{resolved.lifecycle.prefix}/jobs/"
    for data in resolved.identity.data_buckets:
        return data.bucket, f"{data.prefix or ''}slurmpod-jobs/"
    return None
