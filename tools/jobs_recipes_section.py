"""The section of docs/jobs.md on recipes, with every parameter of their models."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.fields import FieldInfo

from slurmpod.environment.descriptions import descriptions, expectation
from slurmpod.jobs.recipes.recipe import Recipe
from slurmpod.jobs.recipes.registry import RECIPES
from tools.jobs_adoption_section import ADOPTION
from tools.jobs_cluster_section import ON_THE_CLUSTER
from tools.jobs_metrics_section import metrics_section
from tools.jobs_staging_section import STAGING
from tools.jobs_venv_section import VENV
from tools.jobs_watch_section import WATCH

INTRODUCTION = """\
## Recipes

    slurmpod job render environments/dev.yaml check-nodes --out check-nodes

writes the job of a recipe; [submit it](#a-job-on-the-cluster) next. Set the parameters of a recipe
in a YAML file. All mistakes in it are reported at once, each with its line:

    echo "steps: 50" > ddp.yaml
    slurmpod job render environments/dev.yaml ddp --parameters ddp.yaml --out ddp

The program gets the values as options. To override one for a single run, add the option after the
script's name when you submit the job.

### In a container

    slurmpod job render environments/examples/closed-network.yaml own-program \\
      --container-image /fsx/images/pytorch.sqsh --out mine

runs the program in a container, if the environment has `lifecycle.containers`. An image is a file
on shared storage, or a name such as `nvcr.io/nvidia/pytorch:25.06-py3`, which the job fetches once;
from ECR with the nodes' role (`identity.image_repositories`). The container sees all shared file
systems, the devices, and `/var/log/aws/clusters`, which AWS's libraries need. It has the job's
variables, except for paths, which are the image's. The step asks Slurm for its nodes and then
starts the container with enroot, because a container has no scontrol, and reports disagree on
`--auto-resume` together with the options of pyxis. Tested with a stand-in for enroot.

    slurmpod job image environments/examples/closed-network.yaml \\
      registry.example.internal/training/pytorch:2.9 --out import

writes a job that imports an image once. Its last line is the option that recipes take. Images come
from a registry; build a Dockerfile on a machine with Docker. From the account's own ECR, nodes pull
the repositories listed in `identity.image_repositories`, with their role; others are refused. The
job stores the image's SHA-256 beside the file. Run again, it imports nothing, and fails if the file
was changed. Tested with a stand-in for enroot.

### EFA

If the instance type has EFA, `NCCL_NET` makes NCCL use nothing else between nodes, with and without
a container. Without AWS's plugin it would silently train over TCP, many times slower. An image
without the plugin, such as NVIDIA's newest ones for PyTorch, gets the node's (`/opt/amazon`). If
neither has one, the step ends with a message before it trains. To use TCP, submit the job with
`--env NCCL_NET=Socket`. Tested with stand-ins for image and plugin, not on GPUs.
"""


def recipes_section() -> str:
    """Return the recipes, and the sections on working with their jobs."""
    entries = map(_entry, RECIPES.values())
    ways = (VENV, ADOPTION, STAGING, ON_THE_CLUSTER)
    return "\n".join((INTRODUCTION, *entries, *ways, metrics_section().rstrip(), WATCH))


def _entry(recipe: Recipe) -> str:
    says = "".join(f" {each}" for each in _limits(recipe))
    text = f"### {recipe.name}\n\n{recipe.starts[0].upper()}{recipe.starts[1:]}.{says}\n"
    more = f"\n{recipe.more}\n" if recipe.more else ""
    return text + more + "".join(_table(recipe))


def _limits(recipe: Recipe) -> Iterator[str]:
    """Yield the environments in which a recipe does not run."""
    for kind in sorted(recipe.unsuitable):
        yield f"It does not run on {kind}."
    if recipe.instance_types:
        yield f"It runs only on {', '.join(recipe.instance_types)}."
    if recipe.why_no_container:
        yield f"It does not run in a container: {recipe.why_no_container}."


def _table(recipe: Recipe) -> Iterator[str]:
    fields = recipe.parameters.model_fields
    if not fields:
        return
    meanings = descriptions(recipe.parameters)
    yield "\n| Parameter | Default | Meaning | Allowed |\n|---|---|---|---|\n"
    for name, field in fields.items():
        yield f"| `{name}` | {_default(field)} | {meanings[name]} | {expectation(field)} |\n"


def _default(field: FieldInfo) -> str:
    value = field.default
    if isinstance(value, dict):
        return "; ".join(f"{name}: {', '.join(map(str, each))}" for name, each in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
