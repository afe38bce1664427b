"""Published trainings compared with the figures of `slurmpod job plan` for their meshes.

docs/jobs.md has both as tables; tests check them.
"""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.catalog import instance_types
from slurmpod.jobs.allocation import Allocation
from slurmpod.jobs.planning.compute import operations
from slurmpod.jobs.planning.memory import Load, Mesh
from slurmpod.jobs.planning.meshes import fit_of
from slurmpod.jobs.planning.models import MODELS, Model
from slurmpod.jobs.planning.plan import plan_for
from slurmpod.jobs.planning.speed import speed_of, utilization
from slurmpod.jobs.planning.training_spec import spec_of
from slurmpod.value import Value

A100, H100 = "ml.p4de.24xlarge", "ml.p5.48xlarge"

FOUNDRY = "LLM Foundry"
LLAMA_3 = "Llama 3, table 4"
TITAN = "torchtitan, compiled"


def _mpt(name: str, layers: int, width: int) -> Model:
    heads = width // 128
    return Model(
        name, layers, width, heads, heads, 4 * width, 50368, mlp_matrices=2, shares_embedding=True
    )


MPT_3B = _mpt("MPT 3B", 32, 2560)
MPT_7B = _mpt("MPT 7B", 32, 4096)
MPT_13B = _mpt("MPT 13B", 40, 5120)
MPT_30B = _mpt("MPT 30B", 48, 7168)
MPT_70B = _mpt("MPT 70B", 80, 8192)


class Step(Value):
    """The speed of one mesh: the published share of the peak, or tokens per second of one GPU."""

    source: str
    model: Model
    gpu: str
    mesh: Mesh
    load: Load
    share: float = 0.0
    tokens: float = 0.0

    @property
    def gpus(self) -> int:
        """Accelerators of the mesh."""
        return self.mesh.accelerators

    @property
    def published(self) -> float:
        """Share of the peak, by slurmpod's count of operations where tokens were published."""
        if self.share:
            return self.share
        return operations(self.model, self.tokens, self.load.sequence) / 989e12

    @property
    def estimated(self) -> float:
        """Share of the peak according to the plan."""
        nodes = Allocation("any", max(1, self.gpus // 8), "UNLIMITED", instance_types()[self.gpu])
        speed = speed_of(nodes)
        if speed is None:
            raise LookupError(self.gpu)
        return utilization(self.model, fit_of(self.model, self.mesh, self.load), speed)


def _load(sequence: int, micro: int, accumulation: int, *, again: bool = False) -> Load:
    return Load(sequence, micro, accumulation, is_checkpointed=again)


def _sharded(gpus: int) -> Mesh:
    return Mesh(1, gpus, 1, 1)


LLAMA_8B, LLAMA_405B = MODELS["llama3.1-8b"], MODELS["llama3.1-405b"]
STEPS = (
    Step(TITAN, LLAMA_8B, H100, _sharded(8), _load(8192, 2, 1), tokens=6667),
    Step(TITAN, LLAMA_8B, H100, _sharded(128), _load(8192, 2, 1), tokens=6514),
    Step(LLAMA_3, LLAMA_405B, H100, Mesh(1, 64, 8, 16), _load(8192, 1, 32), share=0.43),
    Step(LLAMA_3, LLAMA_405B, H100, Mesh(1, 128, 8, 16), _load(8192, 1, 16), share=0.41),
    Step(LLAMA_3, LLAMA_405B, H100, Mesh(1, 8, 8, 16, 16), _load(131072, 1, 16), share=0.38),
    Step(FOUNDRY, MPT_70B, H100, _sharded(64), _load(2048, 8, 4, again=True), share=0.4257),
    Step(FOUNDRY, MPT_70B, H100, _sharded(32), _load(2048, 2, 16, again=True), share=0.3615),
    Step(FOUNDRY, MPT_30B, H100, _sharded(32), _load(2048, 14, 3, again=True), share=0.4392),
    Step(FOUNDRY, MPT_30B, H100, _sharded(8), _load(2048, 3, 21, again=True), share=0.3811),
    Step(FOUNDRY, MPT_30B, H100, _sharded(8), _load(8192, 1, 21, again=True), share=0.2992),
    Step(FOUNDRY, MPT_13B, H100, _sharded(64), _load(2048, 2, 1), share=0.3986),
    Step(FOUNDRY, MPT_13B, H100, _sharded(8), _load(4096, 10, 3, again=True), share=0.416),
    Step(FOUNDRY, MPT_7B, H100, _sharded(8), _load(2048, 6, 1), share=0.4644),
    Step(FOUNDRY, MPT_7B, H100, _sharded(8), _load(8192, 8, 2, again=True), share=0.3714),
    Step(FOUNDRY, MPT_3B, H100, _sharded(64), _load(2048, 6, 3), share=0.408),
    Step(FOUNDRY, MPT_30B, A100, _sharded(8), _load(4096, 1, 21, again=True), share=0.5137),
    Step(FOUNDRY, MPT_13B, A100, _sharded(8), _load(2048, 2, 3), share=0.5957),
    Step(FOUNDRY, MPT_13B, A100, _sharded(8), _load(8192, 5, 3, again=True), share=0.5607),
    Step(FOUNDRY, MPT_7B, A100, _sharded(8), _load(2048, 6, 2), share=0.6423),
    Step(FOUNDRY, MPT_3B, A100, _sharded(8), _load(4096, 5, 6), share=0.6053),
)
"""Steps of tuned programs. Sources: torchtitan's benchmarks/llama3_h100_202412_torchtitan.md (GPUs
of 500 W), arXiv 2407.21783 (table 4), LLM Foundry's scripts/train/benchmarking/README.md."""


class Run(Value):
    """A whole training with its published GPU hours; its mesh is not published."""

    model: str
    gpu: str
    gpus: int
    sequence: int
    batch: int
    tokens: str
    hours: float

    @property
    def estimated(self) -> float:
        """GPU hours of the plan's own mesh."""
        typed = {"model": self.model, "sequence": str(self.sequence), "tokens": self.tokens}
        spec = spec_of({**typed, "global-batch": str(self.batch)})
        nodes = Allocation("any", self.gpus // 8, "UNLIMITED", instance_types()[self.gpu])
        hours = plan_for(spec, nodes, None).hours
        if hours is None:
            raise LookupError(self.gpu)
        return hours * self.gpus


RUNS = (
    Run("llama2-7b", A100, 512, 4096, 1024, "2T", 184_320),
    Run("llama2-13b", A100, 512, 4096, 1024, "2T", 368_640),
    Run("llama2-70b", A100, 1024, 4096, 1024, "2T", 1_720_320),
    Run("llama3.1-8b", H100, 1024, 8192, 2048, "15T", 1_460_000),
    Run("llama3.1-70b", H100, 2048, 8192, 2048, "15T", 7_000_000),
    Run("llama3.1-405b", H100, 16384, 8192, 2048, "15.6T", 30_840_000),
    Run("deepseek-v3", H100, 2048, 4096, 15360, "14.8T", 2_664_000),
)
"""Sources: arXiv 2307.09288 (table 2), the model cards of Llama 3.1, arXiv 2412.19437 (table 1; in
FP8, on H800). If the number of GPUs and the batch are not published, usual sizes are assumed."""


def tables() -> str:
    """Return both tables of the page."""
    return "\n".join([*_steps(), "", *_runs(), ""])


def _steps() -> Iterator[str]:
    yield "| Source | Model | GPUs | Sequence | Mesh | Recompute | MFU | MFU planned | Off |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for each in STEPS:
        mesh = f"{each.mesh.shard} shards"
        mesh += (
            f", TP {each.mesh.tensor}, PP {each.mesh.pipeline}" if each.mesh.pipeline > 1 else ""
        )
        mesh += f", CP {each.mesh.context}" if each.mesh.context > 1 else ""
        gpu = "H100" if each.gpu == H100 else "A100"
        again = "yes" if each.load.is_checkpointed else "no"
        yield (
            f"| {each.source} | {each.model.name} | {each.gpus:,} {gpu} | {each.load.sequence:,}"
            f" | {mesh} | {again} | {each.published:.0%} | {each.estimated:.0%}"
            f" | {each.estimated / each.published - 1:+.0%} |"
        )


def _runs() -> Iterator[str]:
    yield "| Whole run | Tokens | GPU hours published | GPU hours of the plan | Published / plan |"
    yield "|---|---|---|---|---|"
    for each in RUNS:
        estimated = each.estimated
        yield (
            f"| {each.model} | {each.tokens} | {each.hours:,.0f} | {estimated:,.0f}"
            f" | {each.hours / estimated:.1f} |"
        )
