"""The texts that the platform writes to a rehearsal's journal, and the folder of scripts' output.

A separate module, so that commands that only read the journal do not import the platform, which
takes longer than they do.
"""

from __future__ import annotations

CREATION_STARTS = "creation starts"
IN_SERVICE = "in service"

LIFECYCLE_FAILED = "lifecycle scripts failed"
"""A journal entry about a node."""

LOGS_FOLDER = "lifecycle"
"""The rehearsal's folder with the output of each node's scripts."""
