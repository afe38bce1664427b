"""What a training holds in memory while its backward pass runs: no more than it has to.

No GPU is needed: what is no longer held has no weak references that still lead to it.
"""

from __future__ import annotations

from pathlib import Path

from slurmpod.jobs.recipes.registry import RECIPES
from tests.programs.jobs.torch_runs import Run, outcomes

SCORES = """\
import weakref

import torch
from training import loss_of

scores = []


def model(texts):
    made = torch.randn(texts.numel(), 7, requires_grad=True) * 2
    scores.append(weakref.ref(made))
    return made


loss = loss_of(model, torch.randint(7, (2, 5)))
print("scores are held:", scores[0]() is not None)
"""

OFFLOADED = """\
import weakref

import torch
from activations import Host
from torch.utils.checkpoint import checkpoint

taken = []
host = Host(2, torch.device("cpu"))
take = host._take
host._take = lambda wanted: taken.append(found := take(wanted)) or found
values = torch.randn(3, requires_grad=True)
for _ in range(4):
    with host.keeps_inputs():
        values = checkpoint(torch.tanh, values * 2, use_reentrant=False)
print("on the device are", [each.on_device is not None for each in host._inputs])
values.sum().backward()
kept = [weakref.ref(each) for each in taken]
del taken[:]
print(len(kept), "inputs were taken, and are held:", sum(each() is not None for each in kept))
"""

ELSEWHERE = """\
import torch
from activations import Host

with Host(2, torch.device("cpu")).keeps_inputs():
    values = torch.randn(3, device="meta", requires_grad=True)
    values.square().sum().backward()
print("gradient on", values.grad.device)
"""

PROGRAMS = {
    "scores": (SCORES, "scores are held: False"),
    "offloaded": (
        OFFLOADED,
        "on the device are [False, False, False, True]\n4 inputs were taken, and are held: 0",
    ),
    "elsewhere": (ELSEWHERE, "gradient on meta"),
}


def test_nothing_is_held_that_the_backward_pass_has_used(tmp_path: Path) -> None:
    """PyTorch 2.11 also saves what is on another device: on a GPU that ended the training."""
    runs = [Run(name, 1, (), program=f"{name}.py") for name in PROGRAMS]
    for name, (program, _) in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_text(program)
    found = outcomes(RECIPES["fsdp2-hybrid"], tmp_path, runs)
    for (name, (_, said)), outcome in zip(PROGRAMS.items(), found, strict=True):
        assert (name, outcome.status, outcome.log) == (name, 0, f"{said}\n")
