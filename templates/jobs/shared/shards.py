"""Shares of a list for the tasks of a job array: each entry belongs to one task.

Finished entries are in `done/TASK.txt`, one per line. A task that restarts, after its node was lost
or by hand, continues after them: only an entry that was interrupted is repeated. Entries that any
task has finished count for all: so the number of tasks may change at a restart.
"""

from __future__ import annotations

import fcntl
import os
import traceback
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

DONE = Path("done")


def work_on_share(entries: Sequence[str], tasks: int, work: Callable[[str], None]) -> int:
    """Do the rest of this task's share; return 1 if some of it failed, else 0.

    One failed entry does not stop the others. Entries are lines: without line breaks.
    """
    task = int(os.environ["SLURM_ARRAY_TASK_ID"])
    DONE.mkdir(exist_ok=True)
    with _file_of(task).open("a") as done:
        try:
            fcntl.flock(done, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"task {task} runs already, in another job", flush=True)
            return 1
        left = left_of(entries, tasks, task, done_by_all())
        print(f"task {task} of {tasks}: {len(left)} to do, of {len(entries)} in all", flush=True)
        failed = sum(not _is_done(each, work, done.fileno()) for each in left)
    return 1 if failed else 0


def left_of(entries: Sequence[str], tasks: int, task: int, done: Collection[str]) -> list[str]:
    """Return the unfinished entries of a task's share."""
    return [each for each in entries[task::tasks] if each not in done]


def done_by_all() -> set[str]:
    """Return all finished entries; text after the last line break is incomplete."""
    return {each for file in DONE.glob("*.txt") for each in file.read_text().split("\n")[:-1]}


def tell_left(entries: Sequence[str], tasks: int, script: str) -> int:
    """Print the unfinished entries, and how to run their tasks; return 1 if any is left."""
    done = done_by_all()
    left = {task: left_of(entries, tasks, task, done) for task in range(tasks)}
    open_tasks = [str(task) for task, share in left.items() if share]
    count = sum(map(len, left.values()))
    print(f"{len(entries) - count} of {len(entries)} are done")
    for each in [entry for share in left.values() for entry in share][:20]:
        print(f"not done: {each}")
    if not open_tasks:
        return 0
    print(f"run what is left with: sbatch --array={','.join(open_tasks)} {script}")
    return 1


def _file_of(task: int) -> Path:
    return DONE / f"{task}.txt"


def _is_done(entry: str, work: Callable[[str], None], done: int) -> bool:
    """Work on an entry and record that it is done; return whether it is."""
    try:
        work(entry)
    except Exception:  # noqa: BLE001 - whatever it is, the other entries are worked on
        print(f"failed: {entry}\n{traceback.format_exc()}", flush=True)
        return False
    os.write(done, f"{entry}\n".encode())
    os.fsync(done)
    print(f"done: {entry}", flush=True)
    return True
