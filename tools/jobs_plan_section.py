"""The section of docs/jobs.md on `slurmpod job plan`: commands, and formulas with their sources."""

from __future__ import annotations

from tools.published_runs import tables

INTRODUCTION = """\
## Plan a training

    slurmpod job plan environments/p5-prod.yaml --model llama2-7b --sequence 4096 \\
      --global-batch 1024

shows, before you pay for any node:

- each mesh that fits, best first: replicas, shards, parts of a layer, stages, and parts of a
  sequence or of the experts, with memory by part, micro batch, accumulation, hours and MFU;
- steps, tokens and node-hours;
- size, time and best interval of checkpoints, and the cost of failures.

Nodes and file system are those of the environment. If nothing fits, the plan shows the closest
mesh, and the exit code is 1. `--json` has all meshes.

    slurmpod job plan environments/p5-prod.yaml --model 13B --sequence 8192 --global-batch 512 \\
      --nodes 8 --tokens 300B --learning-rate 3e-4 --at-batch 128
    slurmpod job plan environments/trn1-llama2.yaml --model llama2-7b --sequence 4096 \\
      --global-batch 256 --node-mtbf-hours 3000 --json

The recipe [`pretrain`](#pretrain) runs the plan:

    slurmpod job plan environments/p5-prod.yaml --model llama3.1-8b --sequence 8192 \\
      --global-batch 1024 --write plan.yaml
    slurmpod job render environments/p5-prod.yaml pretrain --parameters plan.yaml --out pretrain

`--write` takes the best mesh that this recipe supports: without a pipeline, and with the experts of
a mixture on every process. It sets the shorter of the best checkpoint intervals, and replaces a
file of that name. If the recipe does not support the model or the plan, nothing is written.

`--model` is a name, or a number of parameters, whose shape is then a guess. An unknown name lists
the known ones. Some names are mixtures of experts: their experts are sharded, and each token passes
through a few of them. The number of layers need not be a multiple of the stages. A long sequence
may be divided into parts of 8,192 tokens or more. All mistakes in the options are reported at once.
The plan has no prices.

| Quantity | Formula | Source | Accuracy |
|---|---|---|---|
"""

LEGEND = """
N: parameters; L: layers; h: width; v: vocabulary; s: sequence; b: micro batch; a: accumulation; t,
c: parts of a layer and of a sequence; p: stages; k: turns of a stage, at most 4; m: width of the
MLP against that of GPT-3; C: time of a checkpoint; T: interval; M: hours between failures of the
job; R: restart. Memory and utilization were [measured on one H200](benchmarks.md#on-one-gpu),
without any communication; the formulas were also compared with the numbers of these papers
(`tests/pure/jobs/test_planning.py`).
"""

PUBLISHED = """
### Against published trainings

The speed of single steps of well-tuned programs. torchtitan's GPUs were limited to 500 W, and
Llama 3 had one layer less in its first and its last stage.

"""

WHOLE_RUNS = """
Whole runs include evaluations, restarts and slow weeks, which no formula predicts: Llama 3.1 8B
took almost three times the hours of its operations. DeepSeek-V3 was trained in FP8, which the plan
does not assume. For whole runs, the plan chose the mesh. If you have figures of a similar training,
set its share of the peak with `--utilization`.
"""

FORMULAS = (
    (
        "weights, gradients, optimizer",
        "2 + 2 + 12 bytes for each parameter, shared by shards, parts and stages",
        "ZeRO, 3.1 (arXiv 1910.02054): Adam in mixed precision",
        "FSDP2's 32-bit weights and gradients without a copy have the same sum",
    ),
    (
        "gathered",
        "2 layers with 2 bytes for each parameter, if there are shards",
        "FSDP computes one layer while it fetches the next",
        "others: none to all; all of a stage that gathers once a step, as times assume",
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
        "recomputed activations",
        "`2 s b h` for each layer, and one layer whole",
        "the same, section 5",
        "half more or less",
    ),
    (
        "output",
        "`12 s b v / t`",
        "32 bits: softmax, its gradient, that of the scores; measured",
        "a third less with fused losses, half more if a program keeps the scores",
    ),
    (
        "usable memory",
        "90% of the memory",
        "the rest is for CUDA, NCCL, fragments; measured: 92% to 99% of the sum / 0.9",
        "5% of it",
    ),
    (
        "operations of a token",
        "`6 N + 12 L h s`; N counts only the experts that a token uses",
        "PaLM, appendix B (arXiv 2204.02311)",
        "recomputation does not count",
    ),
    (
        "time to compute",
        (
            "operations, a third more with recomputation, at 66% (A100) or 49% (H100 and "
            "later) of the dense 16-bit peak"
        ),
        "fitted to the published steps below; measured on one GPU: 39% to 53%",
        "a quarter; B200 and later are assumed to be like H100, without evidence",
    ),
    (
        "time to exchange",
        (
            "FSDP, gradients and parts of a sequence: the time beyond that to compute; parts "
            "of a layer and experts: all of it; over NVLink in a node, over network cards "
            "between nodes, at 75% of their speed"
        ),
        "FSDP (arXiv 2304.11277), Megatron-LM (arXiv 1909.08053), data sheets",
        "programs overlap more, or less",
    ),
    (
        "idle time of a pipeline",
        "`(p - 1)/k` of `a + (p - 1)/k` parts of the time",
        "arXiv 2104.04473, section 2.2",
        "plain 1F1B has `k` = 1",
    ),
    (
        "hours",
        "the sum of the three; 40% of the peak on other accelerators; `--utilization` for any",
        "Llama 2: 43% to 46%, from its hours (arXiv 2307.09288)",
        "a third more or less",
    ),
    ("tokens", "20 for each parameter", "Hoffmann et al. (arXiv 2203.15556)", "a default only"),
    (
        "learning rate",
        "in proportion to the batch; by its root for Adam",
        "Goyal et al. (arXiv 1706.02677); Malladi et al. (arXiv 2205.10287)",
        "a starting value",
    ),
    (
        "checkpoint",
        "12 bytes for each parameter",
        "32-bit weights and two moments",
        "14 if 16-bit weights are saved, too",
    ),
    (
        "time of a checkpoint",
        "size / throughput of the first Lustre file system, at most 100 Gb/s for each node",
        "FSx for Lustre user guide, performance",
        "assumes no other writers; less is lost if it is saved in the background",
    ),
    ("best interval", "`sqrt(2 C M)`; Daly subtracts `C`", "Young 1974; Daly 2006", "first order"),
    (
        "failures of a node",
        "every 6,335 hours, and every 1,729 hours (`--node-mtbf-hours`)",
        (
            "Llama 3 405B (arXiv 2407.21783): 419 in 54 days on 2,048 nodes; OPT-175B (arXiv "
            "2205.01068): 105 in 61 days on 124"
        ),
        "they differ by 3.7 times",
    ),
    (
        "lost share",
        "`C/T + (T/2 + R)/M`, with 25 minutes to replace a node",
        "Daly 2006, first order",
        "as rough as M",
    ),
)


def plan_section() -> str:
    """Return the section of the page."""
    rows = "".join(f"| {' | '.join(cells)} |\n" for cells in FORMULAS)
    return f"{INTRODUCTION}{rows}{LEGEND}{PUBLISHED}{tables()}{WHOLE_RUNS}"
