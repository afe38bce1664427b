"""Checkpoints, each of which is complete or does not exist.

A checkpoint is written into a folder with a temporary name. When every process has written its
part, the first one lists the files with their sizes in COMPLETE and renames the folder. Everything
is flushed to the disk first: the remains of a power cut are never mistaken for a checkpoint.

The parts are those of torch.distributed.checkpoint, which records which piece of which tensor is
where: so a different number of processes can read them, too.

Only one training may write into the folder: it removes everything that it does not know.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from lock import FolderTaken, lock

if TYPE_CHECKING:
    from torch.distributed.checkpoint.stateful import Stateful

COMPLETE = "COMPLETE"
PREFIX = "step-"


class Checkpoints:
    """The checkpoints of one training in a folder that all nodes share; the newest `keep` stay.

    All processes must create it and call its methods together. The folder belongs to this training
    until the first process ends.
    """

    def __init__(self, folder: Path, *, keep: int) -> None:
        self._folder = folder
        self._keep = keep
        self._lock = _lock_or_end(folder)
        self._background: _Background | None = None

    def save(self, step: int, state: Mapping[str, Stateful]) -> None:
        """Write the state after `step`; returns once it is safe from a power cut."""
        partial = self._begin(step)
        dcp.save(dict(state), checkpoint_id=partial)
        self._end(partial, step)
        dist.barrier()

    def save_in_background(self, step: int, state: Mapping[str, Stateful]) -> None:
        """Copy the state after `step`; returns while it is written, which `finish` waits for."""
        self.finish()
        self._background = self._background or _Background()
        partial = self._begin(step)
        written = dcp.async_save(
            dict(state), checkpoint_id=partial, process_group=self._background.group
        )
        self._background.then(written, lambda: self._end(partial, step))

    def finish(self) -> None:
        """Wait for the checkpoint that is being written; raises its errors."""
        if self._background:
            self._background.wait()

    def newest(self) -> Path | None:
        """Return the newest complete checkpoint; prints which ones are skipped, and why."""
        choice = [self._newest() if _is_first() else None]
        dist.broadcast_object_list(choice)  # one process decides, as all must read the same
        return choice[0]

    def load(self, checkpoint: Path, state: Mapping[str, Stateful]) -> None:
        """Read the parts of a checkpoint that `state` names, into it."""
        dcp.load(dict(state), checkpoint_id=checkpoint)

    def _begin(self, step: int) -> Path:
        """Return the folder into which all processes write their parts."""
        partial = self._folder / f".{PREFIX}{step:08d}.partial"
        if _is_first():
            self._forget_cut_off()
            partial.mkdir(parents=True)
        dist.barrier()
        return partial

    def _end(self, partial: Path, step: int) -> None:
        """Let the first process rename the checkpoint, and remove old ones."""
        if not _is_first():
            return
        _complete(partial, self._folder / f"{PREFIX}{step:08d}")
        self._forget_old()

    def _newest(self) -> Path | None:
        for folder in sorted(self._folder.glob(f"{PREFIX}*"), reverse=True):
            lack = _lack(folder)
            if not lack:
                return folder
            print(f"checkpoint {folder.name} is skipped: {lack}", flush=True)
        return None

    def _forget_cut_off(self) -> None:
        """Remove the remains of runs that were interrupted while saving, after whichever step."""
        for partial in self._folder.glob(f".{PREFIX}*.partial"):
            shutil.rmtree(partial, ignore_errors=True)

    def _forget_old(self) -> None:
        """Remove checkpoints beyond those to keep, and the remains of interrupted removals."""
        folders = sorted(self._folder.glob(f"{PREFIX}*"))
        oldest = [folder for folder in folders if not _lack(folder)][-self._keep :][0]
        for folder in folders[: folders.index(oldest)]:
            shutil.rmtree(folder)


class _Background:
    """One checkpoint that is being written while the training continues.

    It has its own process group, as messages of both would mix. All others report to the first
    process that their parts are written before its own save ends: so it may rename the checkpoint
    without another message.
    """

    def __init__(self) -> None:
        self.group = dist.new_group(backend="gloo")
        self._threads = ThreadPoolExecutor(1)
        self._pending: Future[object] | None = None

    def then(self, written: Future[object], complete: Callable[[], object]) -> None:
        self._pending = self._threads.submit(lambda: (written.result(), complete()))

    def wait(self) -> None:
        if self._pending:
            self._pending.result()
        self._pending = None


def _lock_or_end(folder: Path) -> TextIO | None:
    """Lock the folder in the first process; all exit if another training has it."""
    file, refusal = None, ""
    if _is_first():
        try:
            file = lock(folder)
        except FolderTaken as error:
            refusal = str(error)
    answer = [refusal]
    dist.broadcast_object_list(answer)  # the others wait here
    if answer[0]:
        sys.exit(refusal or "the first process says why this training ends")
    return file


def _complete(partial: Path, final: Path) -> None:
    """Mark the checkpoint as complete, and rename it."""
    sizes = {file.name: file.stat().st_size for file in sorted(partial.iterdir())}
    with (partial / COMPLETE).open("w") as file:
        json.dump(sizes, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    _force_onto_disk(partial)
    if final.exists():  # incomplete, or this run would have resumed after it
        shutil.rmtree(final)
    partial.rename(final)
    _force_onto_disk(final.parent)


def _lack(checkpoint: Path) -> str:
    """Return the problem of an incomplete checkpoint, or nothing."""
    try:
        sizes = json.loads((checkpoint / COMPLETE).read_text())
    except (OSError, ValueError):
        return f"it has no sound {COMPLETE}"
    for name, size in sizes.items():
        file = checkpoint / name
        found = file.stat().st_size if file.exists() else 0
        if found != size:
            return f"{name} has {found} of {size} bytes"
    return ""


def _force_onto_disk(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_first() -> bool:
    return dist.get_rank() == 0
