"""Unpacking an asset and filling in its markers, as the CDK's bucket deployment does. Pure."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def archive_files(
    archive: bytes, markers: Mapping[str, object], *, json_escape: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of every file of a zip archive, its markers replaced.

    With `json_escape`, replacements are written so that they can stand inside a JSON string.
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
