"""Addresses of a rehearsal's Prometheus servers, for browsers on this machine."""

from __future__ import annotations

from pathlib import Path

FOLDER = "prometheus"
"""The folder of all servers in that of their rehearsal; each has one there, too."""

ADDRESS_FILE = "address"


def addresses(rehearsal: Path) -> tuple[str, ...]:
    """Return where the servers of a rehearsal show their own pages, of those that run."""
    files = sorted((rehearsal / FOLDER).glob(f"*/{ADDRESS_FILE}"))
    return tuple(file.read_text() for file in files)
