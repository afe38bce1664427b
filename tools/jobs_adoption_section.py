"""The section of docs/jobs.md on `slurmpod job adopt`."""

from __future__ import annotations

ROWS = (
    (
        "torchtitan",
        "`multinode_trainer.slurm`, found automatically",
        "3",
        "rendered and linted",
    ),
    (
        "nanotron",
        "`examples/mamba/run_multinode.sh`, found automatically, with `--set PROJECT_DIR=.`",
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
        "rendered and linted; its container must be named",
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
same program here: partition and nodes of the environment, one task per node, torchrun under
`srun --auto-resume=1`, requeue, a log that appends, NCCL and EFA as in [own-program](#own-program).
The command shows the difference between the two scripts, and then everything that it left out:
options and variables that describe another cluster, variables set in a branch, and other programs
that the script runs, such as `module` or `mkdir`. The repository is not changed. With `--out` its
files (in a git repository, those that git tracks) are copied beside the job's files into a folder
outside it. The job runs there, so relative paths still work.

    slurmpod job adopt environments/p5-prod.yaml torchtitan --script multinode.slurm --nodes 2 \\
      --set CONFIG=llama3_8b --env NCCL_DEBUG=INFO --out titan8b
    slurmpod job adopt environments/p5-prod.yaml torchtitan --name tiny -- \\
      torchrun --nproc_per_node=8 -m torchtitan.train --config llama3_debugmodel

| option | meaning |
|---|---|
| `--script` | the script, unless exactly one batch script trains. Any shell script is accepted |
| `--set` | the value of a variable that the script does not set, or of `$1` (`--set 1=VALUE`). A command with unknown values is refused |
| after `--` | a command in place of a script |

- Programs of `deepspeed` and `composer` are started by torchrun, with the option and variables that
  these launchers set (`slurmpod_start.py`): `--local_rank`, NODE_RANK, CROSS_RANK, CROSS_SIZE and
  LOCAL_SIZE. Hosts and numbers of GPUs are left out; other options are refused.
- `accelerate launch` is kept, because it gives the program a plugin and a precision. It runs once on
  each node; step.sh sets the nodes and the number of processes. The job has a configuration of its
  own (`slurmpod_accelerate.yaml`): the file that `--config_file` names in the repository, without the
  numbers and addresses of another cluster; without such a file, only how processes work together.
  The configuration in your home folder is never used. Options of FSDP, DeepSpeed, Megatron-LM and
  precision are kept. `--cpu`, TPUs, `mpirun` and configurations outside the repository are refused,
  and on nodes without GPUs plugins are, too, because accelerate ignores them there. The Python of
  the job needs accelerate.
- Packages are not installed: `job venv --from` pins the repository's packages.
- Paths of data and checkpoints that are not on a shared file system are listed.

This was tested with launch scripts of eight public trainers as of 2026, with
`environments/p5-prod.yaml`. `job lint --env` reports no problem in any rendered job.

| repository | script or command | problems of the original | result |
|---|---|---|---|
$ROWS

A program with accelerate 1.15.0 and PyTorch 2.13 ran on CPUs in such a job, with a configuration for
four nodes of eight GPUs and bf16: two copies of `step.sh`, started by hand with stand-ins for Slurm,
found each other and summed a number. Jobs with FSDP and DeepSpeed need GPUs: they were rendered and
linted.

The last one of the table ran with Lightning 2.6.6 and PyTorch 2.13: its `step.sh` was started by hand, with
stand-ins for Slurm. The others were not trained, for lack of their packages and of GPUs. A program
of the same shape, a module of a user's own package, trained in such a job on two nodes of a
rehearsal.
"""

ADOPTION = _TEXT.replace("$ROWS", "\n".join(f"| {' | '.join(row)} |" for row in ROWS))
