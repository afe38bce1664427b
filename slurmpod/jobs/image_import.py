"""The job that imports an image of a registry into a file on shared storage."""

from __future__ import annotations

from dataclasses import replace

from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.containers import SCRIPTS
from slurmpod.jobs.recipes.recipe import Parameters, Place, Recipe
from slurmpod.jobs.render import Job, render_job
from slurmpod.resolve import Resolved

IMPORT = Recipe(
    "import",
    "an image of a registry, in a file on storage that all nodes share",
    ("enroot on the nodes (lifecycle.containers)",),
    scripts=("import.sbatch",),
)


def import_job(source: str, place: Place, *, name: str, folder: str | None) -> Job:
    """Return the job that imports a source such as Docker has it. Raises JobRefused."""
    image = source.removeprefix("docker://").replace("#", "/", 1)
    if image.startswith(("/", ".")) or image.endswith(".sqsh"):
        raise JobRefused(
            f"'{source}' is no image of a registry",
            "write one such as nvcr.io/nvidia/pytorch:25.06-py3; build a Dockerfile where Docker"
            " runs, and push it to ECR",
        )
    _refuse_unreadable(image, place.resolved)
    job = render_job(IMPORT, place, Parameters(), name=name, folder=folder, image=image)
    starts_none = {path: text for path, text in job.files.items() if path not in SCRIPTS}
    return replace(job, files=starts_none)


def _refuse_unreadable(image: str, resolved: Resolved) -> None:
    """Refuse an image of the account's own ECR that the role of the nodes may not pull."""
    registry, _, path = image.partition("/")
    if not registry.startswith(f"{resolved.account}.dkr.ecr."):
        return
    repository = path.partition(":")[0]
    if repository not in resolved.identity.image_repositories:
        raise JobRefused(
            f"the role of {resolved.name}'s nodes may not pull {repository}",
            "add it under identity.image_repositories, and deploy",
        )
