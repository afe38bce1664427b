"""The live cluster before and after a move: what is compared, and what is copied."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from slurmpod.aws.cluster import IN_SERVICE, Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.migration.moves import API_DRIVEN, RECORDS, Move
from slurmpod.operations.migration.picture import Picture, picture_script, read_picture
from slurmpod.operations.questions import question
from slurmpod.operations.slurm_remote import RemoteSlurm
from slurmpod.whole_file import write_whole

PATIENCE_SECONDS = 180
POLL_SECONDS = 5
FIRST_IMAGES = {
    API_DRIVEN.name: datetime(2026, 1, 1, tzinfo=UTC),
    RECORDS.name: datetime(2026, 8, 30, tzinfo=UTC),
}
"""API-driven configuration needs an image of January 2026 or later, a database outside one that was
released after August 30, 2026 (the guide's two pages). A node that was last made or updated before
may have an older one."""

COPIED = (
    *(f"/opt/slurm/etc/{name}.conf" for name in ("slurm", "accounting", "slurmpod", "gres")),
    *(f"/opt/slurm/etc/{name}.conf" for name in ("cgroup", "topology", "plugstack")),
    "/opt/ml/config/provisioning_parameters.json",
)
"""Files to copy if they exist; not slurmdbd.conf, which may have a password."""


@dataclass(frozen=True)
class Asked:
    """Slurm on the controller of a cluster with or without job records."""

    slurm: RemoteSlurm
    accounting: bool

    def picture(self, ended: Collection[str] = ()) -> Picture:
        """Return the current state; raises AwsUnavailable."""
        script = picture_script(accounting=self.accounting, ended=ended)
        return read_picture(self.slurm.answers(script))

    def picture_when_it_answers(self, before: Picture) -> Picture:
        """Return the state as soon as the controller answers; raises AwsUnavailable."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self.picture(before.jobs)
            except AwsUnavailable:
                if time.monotonic() > until:
                    raise
            time.sleep(POLL_SECONDS)

    def copy(self, folder: Path) -> tuple[Path, ...]:
        """Copy the configuration to this machine, and return the copied files."""
        asked = [question(path, f"[ ! -e {path} ] || cat {path}") for path in COPIED]
        answers = self.slurm.answers("".join(asked))
        folder.mkdir(parents=True, exist_ok=True)
        copies = {folder / Path(path).name: answers[path] for path in COPIED if answers[path]}
        for file, text in copies.items():
            write_whole(file, text)
        return tuple(copies)


def nodes_in_the_way(move: Move, nodes: Sequence[Node]) -> Iterator[str]:
    """Yield reasons in the nodes not to begin the move."""
    unready = [node for node in nodes if node.status != IN_SERVICE]
    if unready:
        names = ", ".join(f"{node.name} ({node.status})" for node in unready)
        yield f"not all nodes are running: {names}\n  fix: wait for them (see slurmpod status)"
    first = FIRST_IMAGES.get(move.name)
    old = [node.name for node in nodes if first and (node.updated or node.launched) < first]
    if old:
        yield (
            f"the image of {', '.join(old)} is from before {first:%B %Y}, and AWS needs a newer "
            "one for this\n  fix: slurmpod patch"
        )
