"""What docs/jobs.md says of the recipes: made of their models, with every parameter."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.fields import FieldInfo

from slurmpod.environment.descriptions import descriptions, expectation
from slurmpod.jobs.recipes.recipe import Recipe
from slurmpod.jobs.recipes.registry import RECIPES

INTRODUCTION = """\
## Recipes

    slurmpod job render environments/dev.yaml check-nodes --out check-nodes

makes the job of a recipe, which is [submitted](#a-job-on-the-cluster) then. What a recipe leaves to
choose stands in a file of YAML, and mistakes in it are told all at once, each with its line:

    echo "steps: 50" > ddp.yaml
    slurmpod job render environments/dev.yaml ddp --parameters ddp.yaml --out ddp

Programs get the values as options, of which each may be given another one behind the script's name
when it is submitted. No recipe starts containers.
"""

ON_THE_CLUSTER = """\
## A job on the cluster

    slurmpod job submit environments/dev.yaml ddp --python /fsx/venv/bin/python -- --steps 20

lints the batch script of a folder against the cluster, copies the folder to the place that its
`--chdir` names, submits it and follows it to its end: what the job writes is printed as it is, and
beside it its state, its restarts, and nodes that fail and come back. What stands behind `--` goes
to the job. The command ends with exit code 0 if the job completed, else with 1.

Files that are on the cluster with other content are named, and replaced only after a `y` or with
`--yes`. Ctrl-C ends the following alone, and says how to come back; a connection that is lost is
made again. `--no-follow` returns once the job is submitted.

    slurmpod job status environments/dev.yaml
    slurmpod job logs environments/dev.yaml 12 --follow
    slurmpod job cancel environments/dev.yaml 12

All of it goes through Session Manager to the first node of the group where users work, in the name
of `ubuntu` (`--user`). Like `slurmpod lifecycle run` it needs `sagemaker:DescribeCluster`,
`sagemaker:ListClusterNodes`, and `ssm:StartSession` on the cluster and on AWS's document
`AWS-StartNonInteractiveCommand`, which [lets its holder be root](sessions.md). The policy for users
of `access.sessions` does not allow that: they copy and submit by hand, in sessions of their own. In
a rehearsal it works in a shell with its variables:
`eval "$(slurmpod rehearsal env)"`. Only programs are copied, up to 20 MB. Slurm forgets a job some
minutes after its end (`MinJobAge`): then there is nothing to follow, and its log is in its folder.
"""


def recipes_section() -> str:
    """Return the section, and what becomes of the jobs."""
    return "\n".join((INTRODUCTION, *map(_entry, RECIPES.values()), ON_THE_CLUSTER))


def _entry(recipe: Recipe) -> str:
    unsuitable = "".join(f" It does not run on {kind}." for kind in sorted(recipe.unsuitable))
    text = f"### {recipe.name}\n\n{recipe.starts[0].upper()}{recipe.starts[1:]}.{unsuitable}\n"
    more = f"\n{recipe.more}\n" if recipe.more else ""
    return text + more + "".join(_table(recipe))


def _table(recipe: Recipe) -> Iterator[str]:
    fields = recipe.parameters.model_fields
    if not fields:
        return
    meanings = descriptions(recipe.parameters)
    yield "\n| Parameter | Default | What it is | Allowed |\n|---|---|---|---|\n"
    for name, field in fields.items():
        yield f"| `{name}` | {_default(field)} | {meanings[name]} | {expectation(field)} |\n"


def _default(field: FieldInfo) -> str:
    value = field.default
    if isinstance(value, dict):
        return "; ".join(f"{name}: {', '.join(map(str, each))}" for name, each in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)
