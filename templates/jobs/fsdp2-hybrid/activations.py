"""What blocks keep for the backward pass: everything, their input alone, or that on the host.

With one of both, a block computes once more what it needs for the backward pass.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

KEPT, COMPUTED_AGAIN, OFFLOADED = "kept", "computed-again", "offloaded"


def keep_less(blocks: nn.ModuleList, way: str, horizon: int, device: torch.device) -> None:
    """Make blocks keep what `way` says; offloaded inputs are loaded for `horizon` blocks ahead."""
    if way == KEPT:
        return
    host = Host(horizon, device) if way == OFFLOADED else None
    for block in blocks:
        block.forward = partial(_computed_again, block.forward, host)


class Host:
    """Inputs of blocks in the host's memory. The backward pass takes them in turn, the last first.

    Copies have a stream of their own, so that they run beside what is computed.
    """

    def __init__(self, horizon: int, device: torch.device) -> None:
        self._horizon = horizon
        self._device = device
        self._stream = None if device.type == "cpu" else torch.Stream(device)
        self._inputs: list[_Input] = []

    def keeps_inputs(self) -> AbstractContextManager[None]:
        """Take what is saved for the backward pass while this is open."""
        return saved_tensors_hooks(self._put, self._take)

    def _put(self, tensor: torch.Tensor) -> torch.Tensor | _Input:
        if tensor.device.type != self._device.type:
            return tensor  # PyTorch before 2.13 also saves an empty one, which is on the host
        with self._beside():
            found = _Input(tensor.to("cpu", non_blocking=True, copy=True))
        if self._stream:
            tensor.record_stream(self._stream)  # its memory is used until it is copied
        self._inputs.append(found)
        return found

    def _take(self, wanted: torch.Tensor | _Input) -> torch.Tensor:
        """Return what was saved, and hold nothing of it: the graph may live to the step's end."""
        if isinstance(wanted, torch.Tensor):
            return wanted
        end = self._inputs.index(wanted) + 1
        for each in reversed(self._inputs[max(0, end - self._horizon) : end]):
            self._load(each)
        del self._inputs[end - 1 :]
        if self._stream and wanted.arrival:
            current = torch.accelerator.current_stream()
            current.wait_event(wanted.arrival)
            wanted.loaded.record_stream(current)
        found, wanted.on_host, wanted.loaded = wanted.loaded, None, None
        return found

    def _load(self, wanted: _Input) -> None:
        if wanted.loaded is not None:
            return
        if not self._stream:
            wanted.loaded = wanted.on_host
            return
        with self._stream:
            wanted.loaded = wanted.on_host.to(self._device, non_blocking=True)
            wanted.arrival = self._stream.record_event()

    def _beside(self) -> AbstractContextManager[object]:
        """Have what is copied now copied by the other stream, behind what was computed so far."""
        if not self._stream:
            return contextlib.nullcontext()
        self._stream.wait_stream(torch.accelerator.current_stream())
        return self._stream


@dataclass(eq=False)
class _Input:
    """The input of a block: on the host, and on its way back."""

    on_host: torch.Tensor | None
    loaded: torch.Tensor | None = None
    arrival: torch.Event | None = None


def _computed_again(forward: nn.Module, host: Host | None, *inputs: torch.Tensor) -> torch.Tensor:
    with host.keeps_inputs() if host else contextlib.nullcontext():
        return checkpoint(forward, *inputs, use_reentrant=False)
