"""What docs/jobs.md says of repositories that become jobs."""

from __future__ import annotations

ROWS = (
    (
        "torchtitan",
        "`multinode_trainer.slurm`, found by itself",
        "3",
        "rendered and linted",
    ),
    (
        "nanotron",
        "`examples/mamba/run_multinode.sh`, found by itself, with `--set PROJECT_DIR=.`",
        "2",
        "rendered and linted",
    ),
    (
        "OLMo",
        "`scripts/beaker/peteish/peteish7.sh` with `--set 1=CONFIG`",
        "2",
        "rendered and linted",
    ),
    (
        "LLM Foundry",
        "`composer scripts/train/train.py` behind `--`",
        "none: a command",
        "rendered and linted",
    ),
    (
        "Megatron-LM",
        "`examples/gpt3/train_gpt3_175b_distributed.sh` with `--set` for `$1` to `$5`",
        "2",
        "rendered and linted",
    ),
    (
        "NeMo",
        (
            "`examples/asr/slurm_example.sh` with `--set` for its folders, "
            "`SLURM_JOB_NUM_NODES` and `SLURM_NTASKS_PER_NODE`"
        ),
        "1",
        "rendered and linted; its container has to be named",
    ),
    (
        "DeepSpeedExamples",
        (
            "`training_scripts/opt/multi_node/run_66b.sh` of DeepSpeed-Chat "
            "with `--set` for `$1` and `$2`"
        ),
        "2",
        "rendered; `job lint` does not see that `main.py` trains",
    ),
    (
        "DeepSpeedExamples",
        "`torchrun training/cifar/cifar10_deepspeed.py` behind `--`",
        "none: a command",
        "rendered and linted",
    ),
    (
        "Lightning",
        "`python examples/fabric/image_classifier/train_fabric.py` behind `--`",
        "none: a command",
        "rendered and linted",
    ),
    (
        "Lightning",
        "`python examples/pytorch/bug_report/bug_report_model.py` behind `--`",
        "none: a command",
        "ran on CPU to its end, in one process",
    ),
)
"""Repository, what was tried, problems that `job lint` finds in the original, and the result."""

_TEXT = """\
## A repository of your own

    slurmpod job adopt environments/p5-prod.yaml torchtitan --out titan
    slurmpod job submit environments/p5-prod.yaml titan

reads the batch script of a repository, finds its launch command, and writes a job that starts the
same program here: partition and nodes of the environment, one task for each node, torchrun under
`srun --auto-resume=1`, requeue, a log that appends, NCCL and EFA as [own-program](#own-program)
sets them. It shows the difference between the two scripts, and then everything that it left out:
options and variables that describe another cluster, variables that are set in a branch, and other
programs that the script runs, such as `module` or `mkdir`. The repository stays as it is. With
`--out` its files (those that git tracks, if it is a git repository) are copied beside the job's
into a folder outside it: the job runs there, and relative paths hold.

    slurmpod job adopt environments/p5-prod.yaml torchtitan --script multinode.slurm --nodes 2 \\
      --set CONFIG=llama3_8b --env NCCL_DEBUG=INFO --out titan8b
    slurmpod job adopt environments/p5-prod.yaml torchtitan --name tiny -- \\
      torchrun --nproc_per_node=8 -m torchtitan.train --config llama3_debugmodel

`--script` names the script where not exactly one batch script trains; any shell script will do.
`--set` says what a variable is, which the script leaves open, or `$1` (`--set 1=VALUE`); a command
with values that nobody knows is refused. What stands behind `--` takes the place of a script.
Programs of `deepspeed` and `composer` are started by torchrun, too, and get what these set beside
it (`slurmpod_start.py`): `--local_rank`, NODE_RANK, CROSS_RANK, CROSS_SIZE and LOCAL_SIZE. Hosts
and numbers of GPUs are left out, and other options refused. `accelerate` is refused: torchrun in
its place could train something else without a word, as its configuration has a plugin and a
precision.
Name a program that takes RANK, WORLD_SIZE and LOCAL_RANK from its environment.
Packages are not installed: `job venv --from` pins what the repository names. Paths of
data and checkpoints that are on no shared file system are named.

This was tried on launch scripts of eight public trainers as they were in 2026, with
`environments/p5-prod.yaml`. `job lint --env` finds nothing in any job that was rendered.

| repository | script or command | problems of the original | result |
|---|---|---|---|
$ROWS

The last one ran with Lightning 2.6.6 and PyTorch 2.13, its `step.sh` started by hand with stand-ins
for Slurm. The others did not train here: their packages and GPUs were not there. That a module of a
user's own package trains under such a job was run on two nodes of a rehearsal, with a program of
the same shape.
"""

ADOPTION = _TEXT.replace("$ROWS", "\n".join(f"| {' | '.join(row)} |" for row in ROWS))
