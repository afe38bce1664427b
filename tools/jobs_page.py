"""The rules for batch scripts as a page of Markdown: docs/jobs.md is made of them."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.jobs.lint import TOPICS
from slurmpod.jobs.registry import Rule

INTRODUCTION = """\
# Batch scripts

`slurmpod job render environments/dev.yaml train-fsdp2 --out train` makes a job that resumes, for
the nodes of a cluster; [how it does that](resume.md) is good to know for jobs of your own.

`slurmpod job lint train.sbatch` reads batch scripts without running them and shows what goes
wrong on a HyperPod cluster with Slurm: jobs that do not resume after a node was replaced, output
that is lost, variables that slow EFA down. With `--env environments/dev.yaml` it also holds them
against that cluster: its partitions, nodes, GPUs, accounts and QOS. `--json` prints the problems
for programs.

The script is read as sbatch and bash read it: directives up to the first command, continued
lines, quotes, here documents. A variable that holds options of srun, such as
`AUTO_RESUME="--auto-resume=1"`, or srun itself counts as what it holds, and what
`--export=ALL,NAME=value` sets counts like `export`. srun is also found behind `env`, `timeout` and
the like. What another file does (a script that srun starts, a sourced one) is not looked at, and
neither are options on the command line of sbatch.

A here document is no part of the script, but what is in it counts where a job is told not to load
its checkpoints, or an argument has a new name. If bash expands it, and `read` or srun is given it,
its meeting place and its list of nodes are judged, too. One for sbatch is another job.

An error ends the command with exit code 3; a warning is shown and passed. The table is made from
the rules: `make golden` refreshes it.
"""


def jobs_page() -> str:
    """Return the page of all rules for batch scripts, topic by topic."""
    return "\n".join((INTRODUCTION, *_tables()))


def _tables() -> Iterator[str]:
    for topic in TOPICS:
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
