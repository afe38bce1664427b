"""Clearing away what rehearsals left whose owner was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes.folder import clear_if_dead

if TYPE_CHECKING:
    from pathlib import Path


def clear_dead(rehearsals: Path) -> list[str]:
    """Clear what dead rehearsals below `rehearsals` left; return the names of those that had some.

    After a crash that is one empty cgroup, as the kernel ends everything else with the owner.
    Rehearsals that live are not touched, and the folders of the dead stay for diagnosis.
    """
    if not rehearsals.is_dir():
        return []
    return [path.name for path in sorted(rehearsals.iterdir()) if clear_if_dead(path)]
