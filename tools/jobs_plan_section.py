"""What docs/jobs.md says of `slurmpod job plan`: commands, and each formula with its source."""

from __future__ import annotations

from tools.published_runs import tables

INTRODUCTION = """\
## What a training needs

    slurmpod job plan environments/p5-prod.yaml --model llama2-7b --sequence 4096 \\
      --global-batch 1024

shows, before anybody pays for a node:

- each mesh of replicas, shards, parts of a layer, stages, and parts of a sequence or of the experts
  that fits, the best first, with memory by part, micro batch, accumulation, hours and MFU;
- steps, tokens and node-hours;
- size, time and best interval of checkpoints, and what failures cost.

Nodes and file system are those of the environment. Where nothing fits, the plan shows what comes
nearest, and the command ends with exit code 1. `--json` has all meshes.

    slurmpod job plan environments/p5-prod.yaml --model 13B --sequence 8192 --global-batch 512 \\
      --nodes 8 --tokens 300B --learning-rate 3e-4 --at-batch 128
    slurmpod job plan environments/trn1-llama2.yaml --model llama2-7b --sequence 4096 \\
      --global-batch 256 --node-mtbf-hours 3000 --json

The plan is carried out with the recipe [`pretrain`](#pretrain):

    slurmpod job plan environments/p5-prod.yaml --model llama3.1-8b --sequence 8192 \\
      --global-batch 1024 --write plan.yaml
    slurmpod job render environments/p5-prod.yaml pretrain --parameters plan.yaml --out pretrain

`--write` takes the best mesh that this recipe has: without a pipeline, and with the experts of a
mixture on every process. Checkpoints are as far apart as the shorter of the best intervals says. A
model or a plan that the recipe does not have is refused, and nothing is written. A file of that
name is replaced.

A model has a name, or is a number of parameters: then its shape is a guess. Among the names are
mixtures of experts: their experts lie among the shards, and a token meets a few of them. The layers
need not be a multiple of the stages. A long sequence may be divided into parts of 8,192 tokens or
more. An unknown name is answered with all that are known. Mistakes in the options are told all at
once. Money is not in the plan.

| What | Formula | Source | How rough |
|---|---|---|---|
"""

LEGEND = """
N: parameters; L: layers; h: width; v: vocabulary; s: sequence; b: micro batch; a: accumulation;
t, c: parts of a layer and of a sequence; p: stages; k: turns of a stage, at most 4; m: width of the
MLP against that of GPT-3; C: time of a checkpoint; T: interval; M: hours between failures of the
job; R: restart. Memory and utilization were [measured on one H200](benchmarks.md#on-one-gpu), which
shares nothing with others; the formulas were also held against the numbers of these papers
(`tests/jobs/test_planning.py`).
"""

PUBLISHED = """
### Against published trainings

The speed of single steps of well-tuned programs. torchtitan's GPUs were limited to 500 W, and
Llama 3 had a layer less in its first and its last stage.

"""

WHOLE_RUNS = """
Whole runs have evaluations, restarts and slow weeks, which no formula knows: Llama 3.1 8B took
almost three times the hours of its operations. DeepSeek-V3 was trained in FP8, which the plan does
not count on. The mesh is the plan's own there. If you know how a training like yours went, give its
share of the peak with `--utilization`.
"""

FORMULAS = (
    (
        "weights, gradients, optimizer",
        "2 + 2 + 12 bytes for each parameter, shared by shards, parts and stages",
        "ZeRO, 3.1 (arXiv 1910.02054): Adam in mixed precision",
        "32-bit weights and gradients without a copy, as FSDP2 has them, are the same sum",
    ),
    (
        "gathered",
        "2 layers with 2 bytes for each parameter, where there are shards",
        "FSDP computes one layer while it fetches the next",
        "other frameworks: none to all",
    ),
    (
        "activations of a layer",
        "`s b h (10 + (8 + 16 m)/t) / c`",
        "Korthikanti et al., equation 2 (arXiv 2205.05198), without scores (FlashAttention)",
        "half more or less",
    ),
    (
        "activations of a pipeline",
        "its first stage keeps those of `p + (p - 1)/k` micro batches",
        "interleaved 1F1B (arXiv 2104.04473, section 2.2)",
        "plain 1F1B: `p`",
    ),
    (
        "activations that are computed again",
        "`2 s b h` for each layer, and one layer whole",
        "the same, section 5",
        "half more or less",
    ),
    (
        "output",
        "`12 s b v / t`",
        "32 bits: softmax, its gradient, that of the scores; measured",
        "a third less with fused losses, half more where a program keeps the scores",
    ),
    (
        "what may be used",
        "90% of the memory",
        "the rest is for CUDA, NCCL, fragments; measured: 92% to 99% of the sum / 0.9",
        "5% of it",
    ),
    (
        "operations of a token",
        "`6 N + 12 L h s`; of experts, N counts those that a token meets",
        "PaLM, appendix B (arXiv 2204.02311)",
        "what is computed again does not count",
    ),
    (
        "time to compute",
        (
            "operations, a third more where they are done again, at 66% (A100) or 49% (H100 and "
            "later) of the dense 16-bit peak"
        ),
        "fitted to the published steps below; measured on one GPU: 39% to 53%",
        "a quarter; B200 and later are taken to be as H100, which nothing here shows",
    ),
    (
        "time to exchange",
        (
            "FSDP, gradients and parts of a sequence: what it takes longer than to compute; parts "
            "of a layer and experts: all of it; by NVLink in a node, by its network cards beyond, "
            "at 75% of their speed"
        ),
        "FSDP (arXiv 2304.11277), Megatron-LM (arXiv 1909.08053), data sheets",
        "programs hide more, or less",
    ),
    (
        "time to wait",
        "`(p - 1)/k` of `a + (p - 1)/k` parts of the time",
        "arXiv 2104.04473, section 2.2",
        "plain 1F1B has `k` = 1",
    ),
    (
        "hours",
        "the three together; 40% of the peak on other accelerators; `--utilization` for any",
        "Llama 2 had 43% to 46% by its hours (arXiv 2307.09288)",
        "a third more or less",
    ),
    ("tokens", "20 for each parameter", "Hoffmann et al. (arXiv 2203.15556)", "a default only"),
    (
        "learning rate",
        "in proportion to the batch; by its root for Adam",
        "Goyal et al. (arXiv 1706.02677); Malladi et al. (arXiv 2205.10287)",
        "to begin with",
    ),
    (
        "checkpoint",
        "12 bytes for each parameter",
        "32-bit weights and two moments",
        "14 where 16-bit weights are kept, too",
    ),
    (
        "time of a checkpoint",
        "size / throughput of the first Lustre file system, at most 100 Gb/s for each node",
        "FSx for Lustre user guide, performance",
        "nobody else writes; less is lost where it is saved in the background",
    ),
    ("best interval", "`sqrt(2 C M)`; Daly takes `C` off", "Young 1974; Daly 2006", "first order"),
    (
        "failures of a node",
        "every 6,335 hours, and every 1,729 hours (`--node-mtbf-hours`)",
        (
            "Llama 3 405B (arXiv 2407.21783): 419 in 54 days on 2,048 nodes; OPT-175B (arXiv "
            "2205.01068): 105 in 61 days on 124"
        ),
        "3.7 times between them",
    ),
    (
        "share that is lost",
        "`C/T + (T/2 + R)/M`, with 25 minutes to replace a node",
        "Daly 2006, first order",
        "as rough as M",
    ),
)


def plan_section() -> str:
    """Return the section of the page."""
    rows = "".join(f"| {' | '.join(cells)} |\n" for cells in FORMULAS)
    return f"{INTRODUCTION}{rows}{LEGEND}{PUBLISHED}{tables()}{WHOLE_RUNS}"
