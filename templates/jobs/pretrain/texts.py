"""Sequences of tokens, from files on shared storage or made up, in a random order.

A file has one token after another, in the machine's byte order: 2 bytes each for up to 65,536
different ones, else 4. That is the format of nanoGPT's and llm.c's preparations. Files are mapped,
not read: a sequence costs only its own size.

The order depends on the seed and the number of the epoch. Its only state is the number of sequences
seen, so it continues after a resume, and on another mesh.
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
"""The number of batches that are read ahead of the accelerator."""

ROUNDS = 4
MADE_UP = 1_000_000
MASK = 2**64 - 1


class Texts:
    """Sequences by number, each one token longer than the model's input."""

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
        """Return the state that determines the order."""
        return {"sequences": self._count, "length": self._sequence, "seed": self._seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Exit if a checkpoint was written with other data: its order would differ."""
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
    """Return the position of a number below `count` in a random order that needs no memory.

    A Feistel network permutes all numbers of so many bits; results from `count` on are permuted
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
    """Yield the results of `read` for first, first + step, ..., which a thread reads ahead."""
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
    """Return bits that depend on all arguments (splitmix64, Steele et al. 2014)."""
    value = value + (seed * (ROUNDS + 1) + turn + 1) * 0x9E3779B97F4A7C15 & MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def _made_up(number: int, sequence: int, vocabulary: int) -> torch.Tensor:
    """Count from a random token in random steps."""
    random = torch.Generator().manual_seed(number)
    start, stride = torch.randint(vocabulary, (2,), generator=random)
    return (start + stride * torch.arange(sequence + 1)) % vocabulary
