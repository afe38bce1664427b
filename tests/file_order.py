"""Which process runs which file of tests, and when."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

NODES = "tests/nodes/"
"""The folder whose tests have nodes, and wait for them more than they compute."""

ALL_ENVIRONMENTS = "tests/templates/test_"
"""The folder whose own files share the synthesis of every environment, and therefore a process."""

LONG = (
    "nodes/test_life.py",
    "nodes/faults",
    "nodes/test_lifecycle_bundles.py",
    "nodes/test_rehearse.py",
    "nodes/test_take_down.py",
    "nodes/test_resume.py",
    "nodes/test_first_hour.py",
    "nodes/test_profiles.py",
    "nodes/test_guarded_environment.py",
    "nodes/test_checkpoints.py",
    "nodes",
    "programs/jobs/test_hybrid_training.py",
    "programs/jobs/test_pipeline_training.py",
    "templates",
    "cloud/test_examples.py",
    "pure/property",
    "cloud",
    "programs",
    "pure/rules",
)
"""Slow folders and files, slowest first: started last, they would run alone."""


def turn(file: str) -> int:
    """Return the turn of a file, given its path below `tests`."""
    return next((turn for turn, long in enumerate(LONG) if file.startswith(long)), len(LONG))


class FilesTogether(LoadFileScheduling):  # type: ignore[misc]
    """Gives each process a file at a time; `ALL_ENVIRONMENTS` counts as one file.

    One process computes while the others run tests with nodes, so that no processor is idle when
    these wait. As soon as only one kind is left, all run that.
    """

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # by number of tests, which says nothing about time

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(ALL_ENVIRONMENTS):
            return ALL_ENVIRONMENTS
        return str(super()._split_scope(nodeid))

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(self._next_file(node), last=False)
        super()._assign_work_unit(node)

    def _next_file(self, node: Any) -> str:
        others = [work for each, work in self.assigned_work.items() if each is not node]
        unfinished = [
            file for work in others for file, done in work.items() if not all(done.values())
        ]
        one_computes = not all(file.startswith(NODES) for file in unfinished)
        files: list[str] = list(self.workqueue)
        return next((file for file in files if file.startswith(NODES) == one_computes), files[0])
