"""Sequences of tokens, from files on shared storage or made up, in an order of their own.

A file has one token after the other, in the machine's order of bytes: 2 bytes each for up to 65,536
different ones, else 4. That is what nanoGPT's and llm.c's preparations write. Files are mapped, not
read: a sequence costs what it takes alone.

The order follows from the seed and the number of the epoch. Nothing is kept of it but how many
sequences were seen, so it goes on after a resume, and on another mesh.
"""

from __future__ import annotations

import itertools
import sys
from bisect import bisect
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

AHEAD = 2
"""Batches that are read while the accelerator computes."""

ROUNDS = 4
MADE_UP = 1_000_000
MASK = 2**64 - 1


class Texts:
    """Sequences by number, each one token longer than what a model sees of it."""

    def __init__(self, folder: Path | None, sequence: int, vocabulary: int, seed: int) -> None:
        self._sequence, self._vocabulary, self._seed = sequence, vocabulary, seed
        kind = torch.uint16 if vocabulary <= 2**16 else torch.uint32
        paths = sorted(folder.glob("*.bin")) if folder else []
        self._files = [_mapped(path, kind) for path in paths]
        counts = [max(0, len(file) - 1) // sequence for file in self._files]
        self._ends = list(itertools.accumulate(counts))
        self._count = self._ends[-1] if self._ends else MADE_UP
        if (folder and not self._ends) or not self._count:
            sys.exit(f"{folder} has no file *.bin with a sequence of {sequence} tokens")

    def state_dict(self) -> dict[str, Any]:
        """Return what the order follows from."""
        return {"sequences": self._count, "length": self._sequence, "seed": self._seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """End where a checkpoint was written with other data: its order would be another one."""
        if state != self.state_dict():
            sys.exit(f"the checkpoint's data were {state}, and now are {self.state_dict()}")

    def read(self, first: int, count: int) -> torch.Tensor:
        """Return the sequences `first` to `first + count - 1` of the order."""
        return torch.stack([self._text(number) for number in range(first, first + count)])

    def _text(self, number: int) -> torch.Tensor:
        epoch, rest = divmod(number, self._count)
        place = shuffled(rest, self._count, self._seed + epoch)
        if not self._files:
            return _made_up(place, self._sequence, self._vocabulary)
        file = bisect(self._ends, place)
        begin = (place - (self._ends[file - 1] if file else 0)) * self._sequence
        text = self._files[file][begin : begin + self._sequence + 1].to(torch.int64)
        if text.max() >= self._vocabulary:
            raise ValueError(f"token {text.max()} is not one of {self._vocabulary}")
        return text


def shuffled(number: int, count: int, seed: int) -> int:
    """Return where a number below `count` comes in an order that needs no memory.

    A Feistel network exchanges all numbers of so many bits; those from `count` on are exchanged
    again (Black and Rogaway 2002, "Ciphers with arbitrary finite domains").
    """
    half = (max(1, (count - 1).bit_length()) + 1) // 2
    while True:
        left, right = number >> half, number & (1 << half) - 1
        for turn in range(ROUNDS):
            left, right = right, left ^ _mixed(right, seed, turn) & (1 << half) - 1
        number = left << half | right
        if number < count:
            return number


def ahead(read: Callable[[int], torch.Tensor], first: int, step: int) -> Iterator[torch.Tensor]:
    """Yield what `read` returns for first, first + step, ..., which a thread reads ahead."""
    with ThreadPoolExecutor(1) as thread:
        numbers = itertools.count(first, step)
        waiting = deque(thread.submit(read, next(numbers)) for _ in range(AHEAD))
        while True:
            waiting.append(thread.submit(read, next(numbers)))
            yield waiting.popleft().result()


def _mapped(path: Path, kind: torch.dtype) -> torch.Tensor:
    count, rest = divmod(path.stat().st_size, kind.itemsize)
    if rest:
        sys.exit(f"{path} has no whole number of tokens of {kind.itemsize} bytes")
    return torch.from_file(str(path), shared=False, size=count, dtype=kind)


def _mixed(value: int, seed: int, turn: int) -> int:
    """Return bits that follow from all arguments (splitmix64, Steele et al. 2014)."""
    value = value + (seed * (ROUNDS + 1) + turn + 1) * 0x9E3779B97F4A7C15 & MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def _made_up(number: int, sequence: int, vocabulary: int) -> torch.Tensor:
    """Count from a random token on, in random steps."""
    random = torch.Generator().manual_seed(number)
    start, stride = torch.randint(vocabulary, (2,), generator=random)
    return (start + stride * torch.arange(sequence + 1)) % vocabulary
