"""Reports of a training's watcher, from the job's comment. Pure.

`templates/jobs/slurmpod_watch` writes them: the time, the kind, and the rank on its node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC

from slurmpod.operations.why.node_lines import moment_of
from slurmpod.operations.why.story import Cause, Moment

SOURCE = "slurmpod-watch"

_TOLD = re.compile(rf"{SOURCE} (?P<time>\S+) (?P<kind>hang|crawl|over): (?P<text>.*)")
_SAYS = {"hang": "the training hangs", "crawl": "the training crawls"}


def moments_of_watcher(comment: str) -> Iterator[Moment]:
    """Yield its last report, at its time."""
    found = _TOLD.search(comment)
    if found and (time := moment_of(found["time"], UTC)):
        yield Moment(time, SOURCE, f"{found['kind']}: {found['text']}")


def with_watcher(causes: Sequence[Cause], comment: str, state: str) -> list[Cause]:
    """Return the causes with the watcher's report: before all others unless that is over."""
    found = _TOLD.search(comment)
    if not found:
        return list(causes)
    kind = found["kind"]
    if kind not in _SAYS or state == "COMPLETED":
        return [
            *causes,
            Cause(f"its training had come to a halt, and went on: {found['text']}", ""),
        ]
    look = "see the stacks of all ranks in slurmpod_watch-JOB, in its folder"
    again = "; then let it begin again on a login node: `scontrol requeue JOB`"
    reported = Cause(f"{_SAYS[kind]}: {found['text']}", f"{look}{again if kind == 'hang' else ''}")
    return [reported, *causes]
