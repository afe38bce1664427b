"""The page docs/jobs.md on batch scripts, with the tables of their rules."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.jobs.lint import topics
from slurmpod.jobs.registry import Rule
from tools.jobs_plan_section import plan_section
from tools.jobs_recipes_section import recipes_section
from tools.jobs_techniques_section import techniques_section

INTRODUCTION = """\
# Batch scripts

| you want to | command |
|---|---|
| write a job that [resumes](resume.md) after a failure | [`slurmpod job render`](#recipes) |
| list the recipes for such jobs | `slurmpod job list` |
| compute what a training needs | [`slurmpod job plan`](#plan-a-training) |
| check a batch script before it runs | `slurmpod job lint` |
| install PyTorch | [`slurmpod job venv`](#pytorch-on-the-cluster) |
| run a repository that you have | [`slurmpod job adopt`](#a-repository-of-your-own) |
| copy data to shared storage | [`slurmpod job stage`](#data-on-shared-storage) |
| submit a job, follow it, cancel it | [`slurmpod job submit`](#a-job-on-the-cluster) |
| see losses and throughput | [`slurmpod job metrics`](#metrics-of-a-training) |
| notice hangs | [`--watch`](#a-training-that-hangs-or-crawls) |

## Check a batch script

    slurmpod job render environments/dev.yaml train-fsdp2 --out train
    slurmpod job lint train/train-fsdp2.sbatch
    slurmpod job lint train/train-fsdp2.sbatch --env environments/dev.yaml

`job lint` reads a batch script without running it. It reports what goes wrong on a HyperPod cluster
with Slurm: options that sbatch does not know or cannot read, jobs that do not resume after a node
was replaced, torchrun started too often or not on every node, lost output, variables that slow EFA
down.

With `--env` it also computes what the job gets on that cluster, and reports what sbatch would
refuse, in sbatch's words: more CPUs, memory or GPUs than the nodes of its partitions have, a time
beyond their limit, an account or a QOS that they do not allow, features and nodes that do not
exist, an array that is too large. With several partitions, one must have suitable nodes, and all
must allow the time, the account and the QOS. If the account or QOS of a job is unknown, it is not
checked.

An error ends the command with exit code 3. A warning does not. A note points out a consequence that
may be intended. `--json` prints the problems for programs. If the linter recognises no training in
a script, it says so (`without_training` in `--json`); then it cannot say whether the job resumes.

How scripts are read:

- The linter reads directives up to the first command, continued lines, quotes and here documents,
  as sbatch and bash do.
- A variable that holds srun or its options, such as `AUTO_RESUME="--auto-resume=1"`, counts as its
  value. `--export=ALL,NAME=value` counts like `export`.
- srun is also found behind `env`, `timeout` and the like. Training is also found in variables made
  of others, as in `srun bash -c "$LAUNCHER $CMD"`, and in a script of the same folder. Other files
  (sourced ones, programs in other folders) are not read.
- Options set in two branches that exclude each other are never combined: branches of one `if` or
  `case`, and tests that contradict each other, such as `[ -n "$IMAGE" ]` and `[ -z "$IMAGE" ]`.
- A here document is not part of the script, but counts if it makes a job ignore its
  checkpoints, or renames an argument. If bash expands it, and `read` or srun gets it, its
  rendezvous host and its list of nodes are checked, too. A here document for sbatch is another job.

A job with exclusive nodes (`--exclusive`) needs no memory option. Slurm assumes the memory that
EC2 states for a type, which is more than the node really has: use `--mem=0` for all of it, because
a number just below it may be more than there is.

## How accurate the linter is

Options, how they take their values, and which values are refused, come from sbatch and srun of
Slurm 24.11.5. `make bench PARTS=lint` runs both the linter and `sbatch --test-only` on thousands of
scripts, with Slurm's controller and the nodes of an environment: [the
figures](benchmarks.md#what-job-lint-predicts-of-sbatch) are for Slurm 24.11 and 26.05. Accounts and
QOS come from a real slurmdbd, with a user who is in all accounts. Sockets, cores and threads are
counted as select/cons_tres does; EC2 does not publish the number of sockets of large types, so the
linter tries one and two. It assumes that Slurm starts with the smallest nodes of a partition.

If versions of Slurm differ, the linter refuses only what all of them refuse; with `--slurm 24.11`,
`25.11` or `26.05` also what that version alone is known to refuse.

Known gaps compared with sbatch:

- GPUs of tasks that do not fit on one of the job's nodes
- a deadline at a time of day, or at a date from 2026 on
- `--overcommit` with `--ntasks-per-gpu`, or with GPUs and more tasks than CPUs
- `--ntasks-per-socket` or `--mincpus` together with GPUs
- whether the jobs and nodes that a script names exist now
- reservations, and the limits of users

The linter was also checked on 243 public batch scripts (of awslabs/awsome-distributed-ai, NVIDIA,
Hugging Face, BigScience and others), message by message. In November 2026, 130 of them were read
again (all 71 of awslabs/awsome-distributed-ai, 19 of open-r1 and ml-engineering, 40 of BigScience).
One of 154 messages was false and has been fixed: words of a list of 9,000 characters looked like
commands. The linter missed four trainings on several nodes, all of the first two kinds below.

What it does not detect:

- training whose number of nodes is on the command line of sbatch, or only follows from `--ntasks`
- training with one step for each node, started in a loop with `--nodes=1` or `--ntasks=1`
- training on several nodes that `mpirun` or `ssh` starts without srun
- training whose program is an argument of the batch script (`srun $1`)
- the contents of a here document for sbatch: that is another job
- training in a job whose name says that it is a test or a measurement
- ports from `$((...))` with parentheses, `shuf` or `expr`
- a cluster with `JobRequeue: 0`, where Slurm requeues nothing by itself

The tables of rules below are generated: `make golden` refreshes them.
"""


def jobs_page() -> str:
    """Return the page of batch scripts: the linter with all its rules, recipes, and the plan."""
    sections = (recipes_section(), plan_section(), techniques_section())
    return "\n".join((INTRODUCTION, *_tables(), *sections))


def _tables() -> Iterator[str]:
    for topic in topics():
        rows = "".join(map(_row, topic.rules))
        yield (
            f"## {topic.title}\n\n"
            "| Rule | Requirement | Why | Fix | Severity |\n|---|---|---|---|---|\n"
            f"{rows}"
        )


def _row(rule: Rule) -> str:
    cells = (_identifier(rule), rule.title, rule.why, rule.fix, rule.severity)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _identifier(rule: Rule) -> str:
    """Return the id as a link to the rule's source."""
    if rule.source.startswith("https://"):
        return f"[{rule.id}]({rule.source})"
    return f"{rule.id} (`{rule.source}`)"
