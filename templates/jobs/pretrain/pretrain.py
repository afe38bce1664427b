"""Train a language model of any size over a mesh: replicas, shards, parts of sequences and layers.

Every mesh has the losses of one process except for rounding, and resumes from the checkpoints of
any other mesh, which are written in the background. The model is initialised where it is trained.
No accelerator waits for the CPU to read a number, except when a step is reported or saved. Exits
with an error if anything fails, so that Slurm and HyperPod see it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
from activations import COMPUTED_AGAIN, KEPT
from decoder import Shape
from passes import Passes
from processes import join, run_to_the_end
from saving import Saving, add_options
from spread import Spread, arranged, refuse_misfits, spread
from spreading import clip
from texts import Texts, ahead
from training import Training, adamw, finite, mean_of_all, report, share_of_rate

PRECISIONS = ("bfloat16", "float32", "float64")
BETAS, DECAY = (0.9, 0.95), 0.1
"""AdamW's parameters in the report on Llama 2 (arXiv 2307.09288, 2.2)."""


def main(options: argparse.Namespace) -> None:
    """Train up to the last step, from the newest complete checkpoint if there is one."""
    device = join(options.device)
    refuse_misfits(options)
    made = spread(_shape(options), options, device)
    training = _training(made, options)
    texts = Texts(options.data, options.sequence, options.vocabulary, options.seed)
    saving = Saving(training, device, options, in_background=True, texts=texts)
    saving.resume()
    pace, passes = Pace(options), Passes(made, options, device)
    batches = _batches(made, training, texts, options, device)
    while training.step < options.steps:
        loss, norm = _train_one_step(training, passes, batches, options)
        reports = training.step % options.report_every == 0
        saves = saving.is_due()
        if reports or saves:
            mean = finite(mean_of_all(loss), "loss", training.step)
            finite(norm.item(), "norm of all gradients", training.step)
            if reports:
                report(training, mean, **pace.since_last(training))
        if saves:
            saving.save()
    saving.end()


class Pace:
    """The speed of the training, from one report to the next."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._tokens = options.sequence / dist.get_world_size()
        self._flops = options.flops_per_token
        self._peak = options.peak_tflops * 1e12
        self._last: tuple[int, float] | None = None

    def since_last(self, training: Training) -> dict[str, str]:
        """Return one process's tokens per second, and their share of its peak (MFU).

        The first report has neither: its steps include one-time setup.
        """
        last, self._last = self._last, (training.samples_seen, time.perf_counter())
        if last is None:
            return {}
        samples, seconds = (now - then for now, then in zip(self._last, last, strict=True))
        tokens = samples * self._tokens / seconds
        found = {"tokens_per_second_per_accelerator": f"{tokens:.1f}"}
        if self._peak:
            found["mfu"] = f"{tokens * self._flops / self._peak:.4f}"
        return found


def _shape(options: argparse.Namespace) -> Shape:
    return Shape(**{each.name: getattr(options, each.name) for each in fields(Shape)})


def _training(made: Spread, options: argparse.Namespace) -> Training:
    optimizer = adamw(made.model, options.learning_rate, betas=BETAS, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: share_of_rate(step, options.warmup, options.steps)
    )
    return Training(made.model, optimizer, schedule, arranged(options), flat=True)


def _batches(
    made: Spread,
    training: Training,
    texts: Texts,
    options: argparse.Namespace,
    device: torch.device,
) -> Iterator[torch.Tensor]:
    """Yield this process's part of each micro batch, on its device."""
    at_once = options.micro_batch
    mine = training.samples_seen + made.reader * at_once
    is_pinned = device.type == "cuda"  # otherwise a copy to the device waits for the CPU
    for batch in ahead(partial(texts.read, count=at_once), mine, made.readers * at_once):
        yield (batch.pin_memory() if is_pinned else batch).to(device, non_blocking=True)


def _train_one_step(
    training: Training,
    passes: Passes,
    batches: Iterator[torch.Tensor],
    options: argparse.Namespace,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return this process's loss, and the norm of all gradients: on the device."""
    loss = passes.take(batches)
    norm = clip(training.model, most=1.0, stages=options.pipeline)
    training.advance(options.batch)
    return loss, norm


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--device", default="cpu", help="kind of device: cpu or cuda")
    add_options(parser)
    parser.add_argument("--data", type=Path, help="folder of *.bin files (default: made-up texts)")
    _add_shape(parser.add_argument_group("the model"))
    _add_mesh(parser.add_argument_group("the mesh, and what a process takes at once"))
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--report-every", type=int, required=True, metavar="STEPS")
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--warmup", type=int, required=True, metavar="STEPS")
    parser.add_argument("--balance", type=float, required=True, help="weight of unequal experts")
    parser.add_argument("--flops-per-token", type=float, default=0, help="for MFU")
    parser.add_argument("--peak-tflops", type=float, default=0, help="of one accelerator")
    return parser.parse_args()


def _add_shape(model: argparse._ArgumentGroup) -> None:
    model.add_argument("--layers", type=int, required=True)
    model.add_argument("--width", type=int, required=True)
    model.add_argument("--heads", type=int, required=True)
    model.add_argument("--kv-heads", type=int, required=True)
    model.add_argument("--head-width", type=int, required=True)
    model.add_argument("--mlp-width", type=int, required=True)
    model.add_argument("--vocabulary", type=int, required=True)
    model.add_argument("--rope-base", type=float, required=True)
    model.add_argument("--norm-epsilon", type=float, required=True)
    model.add_argument("--normed-heads", type=int, required=True, help="0 for none")
    model.add_argument("--shared-embedding", type=int, required=True, help="0 for none")
    model.add_argument("--experts", type=int, required=True, help="0 for none")
    model.add_argument("--active-experts", type=int, required=True, help="0 for none")


def _add_mesh(mesh: argparse._ArgumentGroup) -> None:
    mesh.add_argument("--pipeline", type=int, required=True, help="stages of layers")
    mesh.add_argument("--replicate", type=int, required=True, help="copies of the model")
    mesh.add_argument("--shard", type=int, required=True, help="shards of each copy")
    mesh.add_argument("--context", type=int, required=True, help="parts of each sequence")
    mesh.add_argument("--tensor", type=int, required=True, help="parts of each layer")
    mesh.add_argument("--sequence", type=int, required=True, help="tokens of a sample")
    mesh.add_argument("--batch", type=int, required=True, help="samples of all processes")
    mesh.add_argument("--micro-batch", type=int, required=True, help="samples at once")
    mesh.add_argument("--activations", choices=(KEPT, COMPUTED_AGAIN), required=True)
    mesh.add_argument("--precision", choices=PRECISIONS, required=True)


if __name__ == "__main__":
    chosen = _options()
    run_to_the_end(lambda: main(chosen))
