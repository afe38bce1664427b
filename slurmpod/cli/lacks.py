"""What this machine lacks for rehearsals, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmpod.rehearsal.nodes.host_check import Lack


def lacks_text(lacks: Iterable[Lack]) -> str:
    """Return one paragraph for each lack: what, why, and what to do."""
    return "\n".join(
        f"this machine lacks {lack.what}: {lack.why}\n  fix: {lack.fix}" for lack in lacks
    )
