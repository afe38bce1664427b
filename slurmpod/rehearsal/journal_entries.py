"""What the platform notes in a rehearsal's journal, and where it keeps what scripts print.

It stands by itself: commands that only read these need nothing of the platform, whose imports take
longer than theirs.
"""

from __future__ import annotations

CREATION_STARTS = "creation starts"
IN_SERVICE = "in service"

LIFECYCLE_FAILED = "lifecycle scripts failed"
"""What the journal says of a node."""

LOGS_FOLDER = "lifecycle"
"""The folder of a rehearsal with what the scripts of each node printed."""
