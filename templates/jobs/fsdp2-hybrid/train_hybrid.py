"""Train a model that is replicated, sharded and split over a mesh of processes, with FSDP2.

Every mesh has the losses of one process except for rounding, and resumes from the checkpoints of
any other mesh, which are written in the background. The model is initialised where it is trained:
no process ever has all of it. Exits with an error if anything fails, so that Slurm and HyperPod see
it.
"""

from __future__ import annotations

import argparse
import sys

import torch
import torch.distributed as dist
from activations import COMPUTED_AGAIN, KEPT, OFFLOADED, keep_less
from mesh import spread
from model import Model, samples
from processes import join, run_to_the_end
from saving import Saving, add_options
from spreading import clip, fill, mesh_of
from training import Training, adamw, finite, loss_of, mean_of_all, report, share_of_rate

PRECISIONS = ("bfloat16", "float32", "float64")


def main(options: argparse.Namespace) -> None:
    """Train up to the last step, from the newest complete checkpoint if there is one."""
    device = join(options.device)
    _refuse_misfits(options)
    training = _training(options, device)
    saving = Saving(training, device, options, in_background=True)
    reader = dist.get_rank() // options.tensor  # processes that share layers see the same samples
    torch.manual_seed(options.seed + 1 + reader)  # and drop out the same values
    saving.resume()
    while training.step < options.steps:
        loss = _train_one_step(training, reader, options, device)
        if training.step % options.report_every == 0:
            report(training, loss)
        if saving.is_due():
            saving.save()
    saving.end()


def _refuse_misfits(options: argparse.Namespace) -> None:
    """Exit if options that were changed at submission do not fit the number of processes."""
    readers = options.replicate * options.shard
    if readers * options.tensor != dist.get_world_size():
        mesh = f"{options.replicate} x {options.shard} x {options.tensor}"
        sys.exit(f"a mesh of {mesh} is not one of {dist.get_world_size()} processes")
    if options.batch % readers:
        sys.exit(f"a batch of {options.batch} samples cannot be shared by {readers} readers")


def _training(options: argparse.Namespace, device: torch.device) -> Training:
    mesh = mesh_of(device, options.replicate, options.shard, options.tensor)
    precision = getattr(torch, options.precision)
    with torch.device("meta"):
        model = Model(options.width, options.depth, options.dropout, options.heads)
    if precision == torch.float64:
        model.to(precision)
    keep_less(model.blocks, options.activations, options.loading_horizon, device)
    spread(model, mesh, precision)
    fill(model, device, options.seed)
    optimizer = adamw(model, options.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: share_of_rate(step, options.warmup, options.steps)
    )
    arranged = f"{options.replicate}x{options.shard}x{options.tensor}"
    return Training(model, optimizer, schedule, arranged)


def _train_one_step(
    training: Training, reader: int, options: argparse.Namespace, device: torch.device
) -> float:
    """Take this reader's share of the next samples; return the mean loss of all of them."""
    share = options.batch // (options.replicate * options.shard)
    texts = samples(training.samples_seen + reader * share, share).to(device)
    loss = loss_of(training.model, texts)
    loss.backward()
    mean = finite(mean_of_all(loss.detach()), "loss", training.step)
    finite(clip(training.model, most=1.0).item(), "norm of all gradients", training.step)
    training.advance(options.batch)
    return mean


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--device", default="cpu", help="kind of device: cpu, cuda or neuron")
    add_options(parser)
    parser.add_argument("--replicate", type=int, required=True, help="copies of the model")
    parser.add_argument("--shard", type=int, required=True, help="shards of each copy")
    parser.add_argument("--tensor", type=int, required=True, help="parts of each layer")
    ways = (KEPT, COMPUTED_AGAIN, OFFLOADED)
    parser.add_argument("--activations", choices=ways, required=True)
    parser.add_argument("--loading-horizon", type=int, required=True, metavar="BLOCKS")
    parser.add_argument("--precision", choices=PRECISIONS, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--report-every", type=int, default=1, metavar="STEPS")
    parser.add_argument("--batch", type=int, required=True, help="samples of all processes")
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--warmup", type=int, required=True, metavar="STEPS")
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--depth", type=int, required=True, help="blocks of the model")
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--dropout", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    run_to_the_end(lambda: main(chosen))
