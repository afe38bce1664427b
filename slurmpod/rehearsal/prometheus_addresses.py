"""Local addresses of a rehearsal's Prometheus servers, for a browser."""

from __future__ import annotations

from pathlib import Path

FOLDER = "prometheus"
"""The folder of all servers in the rehearsal's folder; each server has a subfolder."""

ADDRESS_FILE = "address"


def addresses(rehearsal: Path) -> tuple[str, ...]:
    """Return the web page addresses of a rehearsal's running servers."""
    files = sorted((rehearsal / FOLDER).glob(f"*/{ADDRESS_FILE}"))
    return tuple(file.read_text() for file in files)
