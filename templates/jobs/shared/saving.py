"""When a training saves, and how it ends: after its last step, or before its job ends.

It resumes from the last checkpoint, on the same processes or others.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from checkpoints import Checkpoints
from notice import Notice
from processes import say
from training import RandomNumbers, Training

if TYPE_CHECKING:
    from torch.distributed.checkpoint.stateful import Stateful

GIB = 1024**3


class Saving:
    """The checkpoints of a training, with `more` contents; all processes call all methods.

    With `in_background` the training continues while a checkpoint is written.
    """

    def __init__(
        self,
        training: Training,
        device: torch.device,
        options: argparse.Namespace,
        *,
        in_background: bool,
        **more: Stateful,
    ) -> None:
        self._training = training
        self._device = device
        self._random = RandomNumbers(device)
        self._more = more
        self._steps = options.steps
        self._every = options.save_every
        self._checkpoints = Checkpoints(options.checkpoints, keep=options.keep)
        self._notice = Notice(options.save_before_end)
        self._in_background = in_background
        self._ends = False

    def resume(self) -> None:
        """Resume from the newest complete checkpoint, if there is one."""
        training, processes = self._training, self._training.processes
        newest = self._checkpoints.newest()
        if newest is None:
            say(f"starting from the beginning with {processes} processes")
            return
        self._checkpoints.load(newest, {"training": training, **self._more})
        written_by, training.processes = training.processes, processes
        if written_by == processes:
            self._checkpoints.load(newest, {"random": self._random})
        say(f"resuming after step {training.step} with {processes} processes, {written_by} before")

    def is_due(self) -> bool:
        """Return whether to save after this step; the same in all processes."""
        step = self._training.step
        is_last = step == self._steps
        self._ends = not is_last and self._notice.is_given()
        return self._ends or is_last or step % self._every == 0

    def save(self) -> None:
        """Save, with a line for `slurmpod job metrics`; exit if the job ends soon."""
        step = self._training.step
        state = {"training": self._training, "random": self._random, **self._more}
        say(f"saving a checkpoint after step {step}")
        if self._in_background:
            self._checkpoints.save_in_background(step, state)
        else:
            self._checkpoints.save(step, state)
        if self._ends:
            self._checkpoints.finish()
            self._notice.leave(step)

    def end(self) -> None:
        """Wait for the last checkpoint; print the memory that the training needed."""
        self._checkpoints.finish()
        if self._device.type != "cpu":
            held = torch.accelerator.max_memory_allocated()
            say(f"at most {held / GIB:.2f} GiB were allocated")
        say(f"done after step {self._training.step}")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `Saving`."""
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder on shared storage")
    parser.add_argument("--keep", type=int, required=True, help="number of checkpoints to keep")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--save-every", type=int, required=True, metavar="STEPS")
    parser.add_argument("--save-before-end", type=float, required=True, metavar="SECONDS")
