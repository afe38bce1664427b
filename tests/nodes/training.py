"""The rendered training in small: how a test stops it, and its output."""

from __future__ import annotations

import re
from pathlib import Path

SMALL = ("--width", "32", "--depth", "2", "--batch", "8")
STEPS = 60
SAVE_EVERY = 20

HELD_AFTER = 30
HELD_BETWEEN_STEPS = f"""
import time
from pathlib import Path

_samples = samples


def samples(first: int, count: int) -> torch.Tensor:
    while first >= {HELD_AFTER} * 8 and Path("hold").exists():
        time.sleep(0.05)
    return _samples(first, count)
"""
"""Added to model.py: after so many steps it waits for its data while there is a file `hold`."""

HUNG_RANK = f"""
import os
import time
from pathlib import Path

_samples = samples


def samples(first: int, count: int) -> torch.Tensor:
    while os.environ["RANK"] == "1" and first >= {HELD_AFTER} * 8 and Path("hold").exists():
        time.sleep(0.05)
    time.sleep(0.2)
    return _samples(first, count)
"""
"""Added to model.py: after some slow steps only the second process waits, the first for it."""

SLOWED = """
import time

_samples = samples


def samples(first: int, count: int) -> torch.Tensor:
    time.sleep(0.2)
    return _samples(first, count)
"""
"""Added to model.py: its steps leave the processor idle for most of their time."""

CUT_CHECKPOINT = ".step-00000040.partial"
HELD_WHILE_SAVING = f"""
import os
import time
from pathlib import Path

_part = Path("checkpoints/{CUT_CHECKPOINT}", f"__{{os.environ['RANK']}}_0.distcp")
_save = torch.save


def _save_and_wait(*arguments: object, **options: object) -> None:
    _save(*arguments, **options)
    while Path("hold-save").exists() and _part.exists() and _part.stat().st_size:
        time.sleep(0.05)


torch.save = _save_and_wait
"""
"""Added to model.py: with some of its part of that checkpoint on the disk, and more to come, each
process waits while there is a file `hold-save`."""

NAN_AFTER = 15
NAN_GRADIENT = f"""
import os

_samples = samples
_forward = Model.forward
_seen = []


def samples(first: int, count: int) -> torch.Tensor:
    _seen[:] = [first]
    return _samples(first, count)


def _spoil(gradient: torch.Tensor) -> torch.Tensor:
    return gradient * float("nan")


def _with_spoiled_gradient(self: Model, tokens: torch.Tensor) -> torch.Tensor:
    scores = _forward(self, tokens)
    if os.environ["RANK"] == "1" and _seen[0] >= {NAN_AFTER} * 8:
        scores.register_hook(_spoil)
    return scores


Model.forward = _with_spoiled_gradient
"""
"""Added to model.py: after so many steps gradients of the second process are NaN, losses finite."""

IMPATIENT = """
import lock

lock.PATIENCE, lock.PAUSE = 3.0, 0.1
"""
"""Added to model.py: a folder that another training has locked is waited for in seconds only."""

SAVED, PRETRAINED, LAST = 3, 5, 8
"""Steps of the tiny pretraining: its first checkpoint, the step at which it is held, and its
end."""

TINY = f"""
--layers 2 --width 16 --heads 4 --kv-heads 2 --head-width 8 --mlp-width 16 --vocabulary 40
--sequence 8 --batch 4 --precision float32 --steps {LAST} --save-every {SAVED} --report-every 1
""".split()
HELD_TEXTS = f"""
import time

_read = Texts.read


def _read_unless_held(self: Texts, first: int, count: int) -> torch.Tensor:
    while first >= {PRETRAINED} * 4 and Path("hold").exists():
        time.sleep(0.05)
    return _read(self, first, count)


Texts.read = _read_unless_held
"""
"""Added to texts.py: after so many steps there are no more samples while there is a file `hold`."""

_LOSS = re.compile(r"^(?:0: )?step (\d+) loss (\S+ rate \S+) samples \d+ at [\d.]+$", re.MULTILINE)


def losses(log: str) -> dict[int, set[str]]:
    """Return everything that was printed for each step, in any of a job's runs."""
    found: dict[int, set[str]] = {}
    for step, line in _LOSS.findall(log):
        found.setdefault(int(step), set()).add(line)
    return found


def part_sizes(checkpoint: Path) -> list[int]:
    """Return the number of bytes of each process's part of a checkpoint."""
    return [part.stat().st_size for part in sorted(checkpoint.glob("*.distcp"))]


def is_being_saved(checkpoints: Path) -> bool:
    """Return whether both processes of a training are held while they save."""
    sizes = part_sizes(checkpoints / CUT_CHECKPOINT)
    return len(sizes) == 2 and all(sizes)


def assert_cut_off(cut: list[int], checkpoint: Path) -> None:
    """Fail unless each part had begun, and lacked some of the contents of `checkpoint`."""
    whole = part_sizes(checkpoint)
    assert len(cut) == len(whole)
    assert all(0 < size < all_of_it for size, all_of_it in zip(cut, whole, strict=True))
