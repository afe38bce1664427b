"""The work on each key: put yours here."""

from __future__ import annotations

from pathlib import Path


def work(key: str) -> None:
    """Work on one file: an absolute path, or the URI of an object in S3.

    Raises if it fails; the key is then not done, and the task continues with others.
    """
    print(f"{key} has {Path(key).stat().st_size} bytes", flush=True)
