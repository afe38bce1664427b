"""Errors from building and running machines; each message says what to do or where to look."""

from __future__ import annotations

from slurmpod.problems import WorkFailed


class MachineFailed(Exception):
    """Raised if a machine, or the sandbox of machines, cannot be started or reached."""


class BakeFailed(WorkFailed):
    """Raised if the node image cannot be built."""
