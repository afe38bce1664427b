"""Batch scripts as a page of Markdown: docs/jobs.md is made of the rules for them."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.jobs.lint import topics
from slurmpod.jobs.registry import Rule
from tools.jobs_plan_section import plan_section
from tools.jobs_recipes_section import recipes_section
from tools.jobs_techniques_section import techniques_section

INTRODUCTION = """\
# Batch scripts

`slurmpod job render environments/dev.yaml train-fsdp2 --out train` makes a job that resumes, for
the nodes of a cluster; [how it does that](resume.md) is good to know for jobs of your own.
`slurmpod job list` shows the [recipes](#recipes), and `slurmpod job plan` [what a
training needs](#what-a-training-needs) of a cluster.

`slurmpod job lint train/train-fsdp2.sbatch` reads batch scripts without running them and shows what
goes wrong on a HyperPod cluster with Slurm: options that sbatch does not know or cannot read, jobs
that do not resume after a node was replaced, torchrun that is started too often or not on every
node, output that is lost, variables that slow EFA down. `--json` prints the problems for programs.

With `--env environments/dev.yaml` it also computes what the job gets on that cluster, and shows
what sbatch refuses there, with sbatch's own words: more CPUs, memory or GPUs than the nodes of its
partitions have, a time beyond their limit, an account or a QOS that they do not allow, features
and nodes that do not exist, an array that is too large. Of several partitions one has to have such
nodes, and all of them have to allow the time, the account and the QOS. Where nothing shows which
account or QOS a job has, they are not judged.

Where no training is recognised in a script, `lint` says so (`without_training` in `--json`):
nothing is known then of whether the job resumes.

The script is read as sbatch and bash read it: directives up to the first command, continued
lines, quotes, here documents. A variable that holds options of srun, such as
`AUTO_RESUME="--auto-resume=1"`, or srun itself counts as what it holds, and what
`--export=ALL,NAME=value` sets counts like `export`. srun is also found behind `env`, `timeout` and
the like, and training in variables that are made of others, as in `srun bash -c "$LAUNCHER $CMD"`,
and in a script of the same folder. What other files do (sourced ones, programs in other folders) is
not looked at.

Two options that are set in branches of which a run takes only one are never together: those of one
`if` or `case`, and those of tests that contradict each other, such as `[ -n "$IMAGE" ]` and
`[ -z "$IMAGE" ]`.

A here document is no part of the script, but what is in it counts where a job is told not to load
its checkpoints, or an argument has a new name. If bash expands it, and `read` or srun is given it,
its meeting place and its list of nodes are judged, too. One for sbatch is another job.

An error ends the command with exit code 3; a warning is shown and passed. A note says what follows
from something that may well be meant. The tables are made from the rules: `make golden` refreshes
them.

Memory needs no option where a job has its nodes alone (`--exclusive`). Slurm counts on what EC2
calls a type's memory, more than the node really has: `--mem=0` means all of it, and a number just
below it may be more than there is.

## How well it predicts sbatch

Options, how they take their values, and which values are refused, come from sbatch and srun of
Slurm 24.11.5. `make bench PARTS=lint` asks both the linter and `sbatch --test-only` about thousands
of scripts, with Slurm's controller and the nodes of an environment: [the
figures](benchmarks.md#what-job-lint-predicts-of-sbatch) are for Slurm 24.11 and 26.05. Accounts and
QOS are those of a real slurmdbd, with a user who is in all accounts. Sockets, cores and threads are
counted as select/cons_tres does; EC2 does not say on how many sockets the cores of a large type
are, so one and two are taken. Where versions of Slurm differ, it refuses what all of them refuse;
with `--slurm 24.11`, `25.11` or `26.05` also what that version alone is known to refuse. What it
does not see: GPUs of tasks that do not fit on one of the job's nodes, a deadline at a time of day
or a date from 2026 on, `--overcommit` with `--ntasks-per-gpu`, or with GPUs and more tasks than
CPUs, `--ntasks-per-socket` or `--mincpus` beside GPUs, whether jobs and nodes that are named exist
now, reservations, and the limits of users. It takes it that Slurm begins with the smallest nodes of
a partition.

## What it does not see

The linter was held against 243 public batch scripts (of awslabs/awsome-distributed-ai, NVIDIA,
Hugging Face, BigScience and others), each message against the script. When 130 were read again
in November 2026 (all 71 of awslabs/awsome-distributed-ai, 19 of open-r1 and ml-engineering, 40 of
BigScience), one of 154 messages was false, which has been mended: words of a list of 9,000
characters looked like commands. Four trainings on several nodes were not seen, all of the first two
kinds of this list of what it does not see:

- training whose number of nodes is on the command line of sbatch, or only follows from `--ntasks`
- training with one step for each node, started in a loop with `--nodes=1` or `--ntasks=1`
- training on several nodes that `mpirun` or `ssh` starts without srun
- training whose program is an argument of the batch script (`srun $1`)
- what is in a here document for sbatch: that is another job
- training in a job whose name says that it is a test or a measurement
- ports from `$((...))` with parentheses, `shuf` or `expr`
- that a cluster has `JobRequeue: 0`, with which Slurm requeues nothing by itself
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
            "| Rule | A sound script | Why | Fix | Severity |\n|---|---|---|---|---|\n"
            f"{rows}"
        )


def _row(rule: Rule) -> str:
    cells = (_identifier(rule), rule.title, rule.why, rule.fix, rule.severity)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _identifier(rule: Rule) -> str:
    """Return the id as a link to where the rule comes from."""
    if rule.source.startswith("https://"):
        return f"[{rule.id}]({rule.source})"
    return f"{rule.id} (`{rule.source}`)"
