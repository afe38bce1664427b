"""Train a model with FSDP2 so that it can be interrupted at any time and resume unaffected.

Started once for each process, with the variables that torch.distributed reads (RANK, WORLD_SIZE,
LOCAL_RANK, MASTER_ADDR, MASTER_PORT). Exits with an error if anything fails, so that Slurm and
HyperPod see it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from model import Model, samples
from processes import join, run_to_the_end
from saving import Saving
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from training import Training, adamw, finite, loss_of, mean_of_all, report, share_of_rate

SEED = 20_26


def main(options: argparse.Namespace) -> None:
    """Train up to the last step, from the newest complete checkpoint if there is one."""
    device = join(options.device)
    processes = dist.get_world_size()
    if options.batch % processes:
        sys.exit(f"a batch of {options.batch} samples cannot be shared by {processes} processes")
    training = _training(options, device)
    saving = Saving(training, device, options, in_background=False)
    torch.manual_seed(SEED + 1 + dist.get_rank())  # from here on, each process has its own
    saving.resume()
    while training.step < options.steps:
        loss = _train_one_step(training, options.batch, device)
        if training.step % options.report_every == 0:
            report(training, loss)
        if saving.is_due():
            saving.save()
    saving.end()


def _training(options: argparse.Namespace, device: torch.device) -> Training:
    torch.manual_seed(SEED)  # all processes start with the same weights
    model = _sharded(Model(options.width, options.depth, options.dropout), device)
    optimizer = adamw(model, options.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: share_of_rate(step, options.warmup, options.steps)
    )
    return Training(model, optimizer, schedule, dist.get_world_size())


def _train_one_step(training: Training, batch: int, device: torch.device) -> float:
    """Process this process's share of the next samples; return the mean loss of all of them."""
    share = batch // dist.get_world_size()
    texts = samples(training.samples_seen + dist.get_rank() * share, share).to(device)
    loss = loss_of(training.model, texts)
    loss.backward()
    mean = finite(mean_of_all(loss.detach()), "loss", training.step)
    norm = torch.nn.utils.clip_grad_norm_(training.model.parameters(), max_norm=1.0)
    finite(norm.full_tensor().item(), "norm of all gradients", training.step)
    training.advance(batch)
    return mean


def _sharded(model: Model, device: torch.device) -> Model:
    """Shard the model; accelerators compute with 16 bits, and weights and their sums keep 32."""
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    policy = MixedPrecisionPolicy()
    if device.type != "cpu":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    return fully_shard(model, mesh=mesh, mp_policy=policy).to(device)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--device", default="cpu", help="kind of device: cpu, cuda or neuron")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder on shared storage")
    parser.add_argument("--keep", type=int, default=3, help="number of checkpoints to keep")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save-every", type=int, default=100, metavar="STEPS")
    parser.add_argument("--save-before-end", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--report-every", type=int, default=1, metavar="STEPS")
    parser.add_argument("--batch", type=int, default=512, help="samples of all processes")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--warmup", type=int, default=20, metavar="STEPS")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--depth", type=int, default=4, help="blocks of the model")
    parser.add_argument("--dropout", type=float, default=0.1)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    run_to_the_end(lambda: main(chosen))
