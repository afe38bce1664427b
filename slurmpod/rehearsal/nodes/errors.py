"""Errors of making and running machines; each message says what to do or where to look."""

from __future__ import annotations

from slurmpod.problems import WorkFailed


class MachineFailed(Exception):
    """Raised when a machine, or what holds the machines together, cannot be started or reached."""


class BakeFailed(WorkFailed):
    """Raised when the node image cannot be made."""
