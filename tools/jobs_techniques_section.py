"""The section of docs/jobs.md on the techniques of the documents behind this project."""

from __future__ import annotations

INTRODUCTION = """\
## Techniques

These techniques come from AWS's posts and examples on HyperPod, SMP, the Training Compiler,
Trainium and distributed training, with which this project began.

| Technique | Where | Difference, or reason why it is missing |
|---|---|---|
"""

SMP = "[`fsdp2-hybrid`](#fsdp2-hybrid), [`smp2-llama`](#smp2-llama)"
COMPILE = "[`gpt2-compile`](#gpt2-compile)"
BERT = "[`bert-pipeline`](#bert-pipeline)"
TRN1 = "[`trn1-llama2-7b`](#trn1-llama2-7b)"
NONE = "no"

TECHNIQUES = (
    (
        "Sharded data parallelism, hybrid sharding",
        f"{SMP}, [`pretrain`](#pretrain)",
        "FSDP2 in place of SMP's FSDP",
    ),
    ("Tensor parallelism with FSDP", f"{SMP}, [`pretrain`](#pretrain)", ""),
    ("Context parallelism", "[`smp2-llama`](#smp2-llama), [`pretrain`](#pretrain)", ""),
    (
        "Expert parallelism",
        "[`smp2-llama`](#smp2-llama)",
        "`pretrain` shards and splits experts instead",
    ),
    ("Activation checkpointing", f"{SMP}, [`pretrain`](#pretrain)", ""),
    ("Activation offloading, with a loading horizon", SMP, ""),
    (
        "Delayed initialization of parameters",
        f"{SMP}, [`pretrain`](#pretrain)",
        "`train-fsdp2` creates the whole model in each process",
    ),
    ("`tensor_parallel_seed`", "`random_seed`", "SMP renamed it"),
    ("SMDDP's AllGather", "`backend: smddp` of [`smp2-llama`](#smp2-llama)", "P4d and P4de only"),
    ("FP8 (Transformer Engine)", NONE, "no accelerator was available to check its losses"),
    (
        "Training Compiler",
        COMPILE,
        "AWS no longer releases it: `torch.compile` beside the same training without it",
    ),
    (
        "fp16 on T4",
        COMPILE,
        "with scaled losses; losses in fp16 were compared on CPUs only",
    ),
    (
        "A batch of 10 uncompiled beside 20 compiled",
        NONE,
        "both use the same batch, because their losses are compared; submit two jobs instead",
    ),
    (
        "A learning rate of 5e-5 / 32 for each sample",
        f"{COMPILE}, [`job plan`](#plan-a-training)",
        "",
    ),
    ("`train_runtime`, samples and steps per second", COMPILE, "as JSON and for Prometheus"),
    (
        "A pipeline, interleaved, with microbatches",
        BERT,
        "PyTorch's own; `pretrain` has one with shards, not interleaved",
    ),
    (
        "LAMB, with a learning rate of 6e-3",
        NONE,
        "PyTorch has no LAMB; AdamW with 1e-4 replaces it",
    ),
    (
        "`overlapping_allreduce`, fp16 all-reduce",
        NONE,
        "PyTorch overlaps the exchange of DDP and FSDP; pipelines of BERT share gradients last",
    ),
    ("`steps_this_run`", "`--time`", "the job saves before its limit and is requeued"),
    (
        "`placement_strategy`, `memory_weight`",
        f"`partitions` and `stages_per_partition` of {BERT}",
        "neighbours are on one node; layers are shared evenly, not by memory",
    ),
    ("DDP", "[`ddp`](#ddp)", ""),
    (
        "Accelerate, DeepSpeed, Lightning, Megatron-LM, NeMo",
        "[`job adopt`](#a-repository-of-your-own)",
        "no separate recipes",
    ),
    (
        "Horovod, tf.distribute, Ray",
        NONE,
        "[`own-program`](#own-program) starts any program, but not their launchers",
    ),
    ("mpi4py", NONE, "no recipe: `srun --mpi=pmix` needs a Slurm that was built with PMIx"),
    (
        "Hyperparameter tuning: a grid, at random",
        "[`sweep`](#sweep)",
        "no Bayesian choice, no Hyperband: trials run to their end",
    ),
    ("Data sharded by S3 key", "[`sharded-array`](#sharded-array)", ""),
    ("The input as a bottleneck", "[`io-bench`](#io-bench)", ""),
    ("Jobs that follow each other", f"`--dependency`, as in {TRN1}", "in place of Pipelines"),
    (
        "NeuronX NeMo Megatron for Llama 2 on Trn1",
        TRN1,
        "its program no longer exists: AWS's for NeuronX Distributed, with the same numbers",
    ),
    ("Compiling ahead (`neuron_parallel_compile`)", TRN1, "a separate job"),
    ("Stochastic rounding", f"`stochastic_rounding` of {TRN1}", ""),
    (
        "neuron-top, TensorBoard, a profile",
        "[`neuron-monitor`](monitoring.md)",
        "metrics of nodes only: no recipe has an option for a profile",
    ),
    (
        "A model that answers requests (GPT-J)",
        "[`services.endpoint`](services.md)",
        "slurmpod has no command to query it: use AWS's command line",
    ),
    ("Notebooks", "[`services.notebook`](services.md)", ""),
)


def techniques_section() -> str:
    """Return the section: each technique with its place."""
    rows = "".join(f"| {' | '.join(each)} |\n" for each in TECHNIQUES)
    return f"{INTRODUCTION}{rows}"
