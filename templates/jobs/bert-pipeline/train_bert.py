"""Train BERT in pipelines: each process has some stages and passes its results on.

Before the first step every process also computes its pipeline's batch alone, with the whole model.
If loss or gradients of its stages differ, the program exits with status 1. A checkpoint does not
depend on stages and processes: any others can resume from it.
"""

from __future__ import annotations

import argparse
import math
import sys
from itertools import chain

import torch
import torch.distributed as dist
from bert import Bert, Shape, mean_loss, texts
from processes import join, run_to_the_end, say
from saving import Saving, add_options
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B
from training import Training, adamw, finite, report, share_of_rate


class Pipeline:
    """The stages of this process, in a pipeline with those of its neighbours."""

    def __init__(self, options: argparse.Namespace, mesh: DeviceMesh, device: torch.device) -> None:
        self.device = device
        self.shape = _shape(options)
        self.number = mesh.get_local_rank("pipeline")
        self.count = mesh["pipeline"].size()
        self._batch = options.batch
        self._partition = mesh.get_local_rank("partition")
        self._partitions = mesh["partition"].size()
        self._peers = mesh.get_group("pipeline")
        self._neighbours = mesh.get_group("partition")
        total = self._partitions * options.stages_per_partition
        mine = range(self._partition, total, self._partitions)
        cuts = [number * options.layers // total for number in range(total + 1)]
        layers = {number: range(cuts[number], cuts[number + 1]) for number in mine}
        self.bert = _on(Bert(self.shape, chain(*layers.values()), options.seed), options, device)
        stages = [
            PipelineStage(self.bert.stage(each), number, total, device, group=self._neighbours)
            for number, each in layers.items()
        ]
        self._schedule = ScheduleInterleaved1F1B(stages, options.microbatches, loss_fn=mean_loss)

    def pass_through(self, first: int) -> float:
        """Run this pipeline's share of the samples from `first` on, forward and backward.

        Returns the mean loss of the share; gradients are means of it, too.
        """
        seen, wanted = self.batch(first)
        is_last = self._partition == self._partitions - 1
        losses: list[torch.Tensor] = []
        self._schedule.step(
            *((seen,) if self._partition == 0 else ()),
            target=wanted if is_last else None,
            losses=losses if is_last else None,
        )
        loss = torch.stack(losses).mean() if is_last else torch.zeros((), device=self.device)
        return self._sum_of_neighbours(loss.to(torch.float64))

    def batch(self, first: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return this pipeline's share of the samples from `first` on."""
        seen, wanted = texts(first + self.number * self._batch, self._batch, self.shape)
        return seen.to(self.device), wanted.to(self.device)

    def share_gradients(self) -> float:
        """Average gradients over all pipelines' samples; return their norm over all stages."""
        gradients = [parameter.grad for parameter in self.bert.parameters()]
        work = [dist.all_reduce(each, group=self._peers, async_op=True) for each in gradients]
        for each in work:
            each.wait()
        for each in gradients:
            each.div_(self.count)
        squares = torch.stack([each.square().sum() for each in gradients]).sum()
        return math.sqrt(self._sum_of_neighbours(squares.to(torch.float64)))

    def mean(self, value: float) -> float:
        """Return the mean of all pipelines' values."""
        total = torch.tensor(value, dtype=torch.float64, device=self.device)
        dist.all_reduce(total, group=self._peers)
        return total.item() / self.count

    def _sum_of_neighbours(self, value: torch.Tensor) -> float:
        dist.all_reduce(value, group=self._neighbours)
        return value.item()


def main(options: argparse.Namespace) -> None:
    """Train up to the last step, from the newest complete checkpoint if there is one."""
    device = join(options.device)
    pipelines, rest = divmod(dist.get_world_size(), options.partitions)
    if rest:
        sys.exit(f"{dist.get_world_size()} processes cannot be pipelines of {options.partitions}")
    names = ("pipeline", "partition")
    mesh = init_device_mesh(device.type, (pipelines, options.partitions), mesh_dim_names=names)
    pipeline = Pipeline(options, mesh, device)
    training = _training(pipeline, options)
    saving = Saving(training, device, options, in_background=False)
    torch.manual_seed(options.seed + 1 + dist.get_rank())
    saving.resume()
    if training.step == 0:
        _compare_with_one_process(pipeline, options)
    while training.step < options.steps:
        loss = _train_one_step(training, pipeline, options.batch)
        report(training, loss)
        if saving.is_due():
            saving.save()
    saving.end()


def _training(pipeline: Pipeline, options: argparse.Namespace) -> Training:
    optimizer = adamw(pipeline.bert, options.learning_rate)
    warmup = round(options.warm_up_share * options.steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: share_of_rate(step, warmup, options.steps)
    )
    arranged = f"{pipeline.count}x{options.partitions}"
    return Training(pipeline.bert, optimizer, schedule, arranged, flat=True)


def _train_one_step(training: Training, pipeline: Pipeline, batch: int) -> float:
    loss = pipeline.mean(pipeline.pass_through(training.samples_seen))
    finite(loss, "loss", training.step)
    norm = finite(pipeline.share_gradients(), "norm of all gradients", training.step)
    for parameter in pipeline.bert.parameters():
        parameter.grad.mul_(min(1.0, 1.0 / (norm + 1e-6)))
    training.advance(batch * pipeline.count)
    return loss


def _compare_with_one_process(pipeline: Pipeline, options: argparse.Namespace) -> None:
    """Exit if the pipeline's results differ from those of one process with the whole model."""
    whole = _on(Bert(pipeline.shape, range(options.layers), options.seed), options, pipeline.device)
    one, bert = whole.stage(range(options.layers)).eval(), pipeline.bert.eval()
    loss = pipeline.pass_through(0)
    alone = 0.0
    parts = (part.chunk(options.microbatches) for part in pipeline.batch(0))
    for seen, wanted in zip(*parts, strict=True):
        share = mean_loss(one(seen), wanted) / options.microbatches
        share.backward()
        alone += share.item()
    _refuse_unequal("the loss", abs(loss - alone), abs(alone), options.tolerance)
    expected = dict(whole.named_parameters())
    for name, parameter in bert.named_parameters():
        grad = expected[name].grad
        difference = (parameter.grad - grad).abs().max().item()
        largest = grad.abs().max().item()
        _refuse_unequal(f"the gradient of {name}", difference, largest, options.tolerance)
    bert.train().zero_grad()
    dist.barrier()  # any other process may have refused
    say(f"loss and gradients are those of one process: {loss:.9f}, alone {alone:.9f}")


def _refuse_unequal(what: str, difference: float, size: float, tolerance: float) -> None:
    if not difference <= tolerance * size:
        sys.exit(f"{what} is another one than with one process: by {difference} of {size}")


def _on(bert: Bert, options: argparse.Namespace, device: torch.device) -> Bert:
    return bert.to(device, getattr(torch, options.precision))


def _shape(options: argparse.Namespace) -> Shape:
    return Shape(
        options.layers,
        options.width,
        options.heads,
        options.vocabulary,
        options.sequence,
        options.dropout,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--device", default="cpu", help="kind of device: cpu, cuda or neuron")
    add_options(parser)
    parser.add_argument("--partitions", type=int, required=True, help="processes of a pipeline")
    parser.add_argument("--stages-per-partition", type=int, required=True)
    parser.add_argument("--microbatches", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True, help="samples of a pipeline in a step")
    parser.add_argument("--sequence", type=int, required=True, help="tokens of a sample")
    parser.add_argument("--warm-up-share", type=float, required=True, help="of all steps")
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--precision", choices=("float32", "float64"), required=True)
    parser.add_argument("--tolerance", type=float, required=True, help="relative to the value")
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--vocabulary", type=int, required=True)
    parser.add_argument("--dropout", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    run_to_the_end(lambda: main(chosen))
