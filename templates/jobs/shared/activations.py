"""Activations that blocks keep for the backward pass: all, their input only, or that on the host.

With the latter two, a block recomputes the rest in the backward pass.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

KEPT, COMPUTED_AGAIN, OFFLOADED = "kept", "computed-again", "offloaded"


def keep_less(blocks: Iterable[nn.Module], way: str, horizon: int, device: torch.device) -> None:
    """Make blocks keep what `way` says; offloaded inputs are loaded `horizon` blocks ahead."""
    if way == KEPT:
        return
    host = Host(horizon, device) if way == OFFLOADED else None
    for block in blocks:
        block.forward = partial(_computed_again, block.forward, host)


class Host:
    """Inputs of blocks in the host's memory. The backward pass takes them in reverse order.

    Copies have their own stream, so that they overlap with computation. All memory on the device
    belongs to the computing stream, which waits for a copy before an input is released: then the
    memory is free for what comes next. `record_stream` would free it only when the CPU finds the
    copy done, and the CPU is many blocks ahead.
    """

    def __init__(self, horizon: int, device: torch.device) -> None:
        self._horizon = horizon
        self._device = device
        self._stream = None if device.type == "cpu" else torch.Stream(device)
        self._inputs: list[_Input] = []

    def keeps_inputs(self) -> AbstractContextManager[None]:
        """Offload what is saved for the backward pass inside this context; release earlier inputs.

        So the last block's input stays on the device: it is needed first.
        """
        for each in self._inputs:
            if each.on_device is not None:
                self._let_go(each)
        return saved_tensors_hooks(self._put, self._take)

    def _put(self, tensor: torch.Tensor) -> torch.Tensor | _Input:
        if tensor.device.type != self._device.type:
            return tensor  # PyTorch before 2.13 also saves an empty one, which is on the host
        with self._beside():  # PyTorch pins host memory that it copies to without blocking
            found = _Input(tensor, tensor.to("cpu", non_blocking=True, copy=True), self._mark())
        self._inputs.append(found)
        return found

    def _take(self, wanted: torch.Tensor | _Input) -> torch.Tensor:
        """Return what was saved and drop the reference: the graph may live to the step's end."""
        if isinstance(wanted, torch.Tensor):
            return wanted
        end = self._inputs.index(wanted) + 1
        for each in reversed(self._inputs[max(0, end - self._horizon) : end]):
            if each.on_device is None:
                self._load(each)
        del self._inputs[end - 1 :]
        found = self._let_go(wanted)
        wanted.on_host = None
        return found

    def _load(self, wanted: _Input) -> None:
        wanted.on_device = torch.empty_like(wanted.on_host, device=self._device)
        with self._beside():
            wanted.on_device.copy_(wanted.on_host, non_blocking=True)
            wanted.copied = self._mark()

    def _let_go(self, copied: _Input) -> torch.Tensor:
        """Return the input and release it; computation from now on waits for its copy."""
        if copied.copied:
            torch.accelerator.current_stream().wait_event(copied.copied)
        found, copied.on_device = copied.on_device, None
        return found

    def _beside(self) -> AbstractContextManager[object]:
        """Run the copies in this context on the other stream, after the computation so far."""
        if not self._stream:
            return contextlib.nullcontext()
        self._stream.wait_stream(torch.accelerator.current_stream())
        return self._stream

    def _mark(self) -> torch.Event | None:
        return self._stream.record_event() if self._stream else None


@dataclass(eq=False)
class _Input:
    """The input of a block: on the device while it is copied, and on the host."""

    on_device: torch.Tensor | None
    on_host: torch.Tensor | None
    copied: torch.Event | None


def _computed_again(forward: nn.Module, host: Host | None, *inputs: torch.Tensor) -> torch.Tensor:
    with host.keeps_inputs() if host else contextlib.nullcontext():
        return checkpoint(forward, *inputs, use_reentrant=False)
