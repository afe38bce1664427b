"""Checks of services beside the cluster: quotas, names, models and images."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.preflight.checks.quotas import INCREASE
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.endpoint import OWN_CONTAINERS
from slurmpod.rules.groups import GUIDE
from slurmpod.rules.registry import Finding

QUOTAS = "https://docs.aws.amazon.com/general/latest/gr/sagemaker.html"
MODEL_FILES = f"{GUIDE}large-model-inference-uncompressed.html"


@PREFLIGHT.rule(
    "PRE-901",
    "The quota allows the endpoint's instances",
    why="SageMaker has a quota for each type on endpoints, apart from that of clusters. It is 0 in "
    "new accounts for most accelerated types.",
    fix=INCREASE,
    source=QUOTAS,
)
def _instances_of_the_endpoint(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    if endpoint is None:
        return
    name = f"{endpoint.settings.instance_type} for endpoint usage"
    quota = facts.quota("sagemaker", name)
    if quota is not None and endpoint.most_instances > quota:
        message = f"the quota '{name}' is {quota:g}; this needs {endpoint.most_instances}"
        yield Finding((*endpoint.path, "instance_type"), message)


@PREFLIGHT.rule(
    "PRE-902",
    "The name of the endpoint is free",
    why="An account has an endpoint of a name once in a Region.",
    fix="choose another name for the environment, or delete what has it",
    source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateEndpoint.html",
)
def _name_is_free(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    found = facts.endpoint
    is_new = facts.stacks is not None and facts.will_be_made(resolved.stacks.endpoint)
    if found and found.status and is_new:
        message = (
            f"there is an endpoint {resolved.name} ({found.status}) that slurmpod did not create"
        )
        yield Finding(("name",), message)


@PREFLIGHT.rule(
    "PRE-903",
    "The model is there",
    why="Instances download it when they start. Without it the endpoint fails after everything "
    "else was made.",
    fix="correct services.endpoint.model_data, or upload the model",
    source=MODEL_FILES,
)
def _model_is_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoint, found = resolved.endpoint, facts.endpoint
    if endpoint and found and found.has_model is False:
        what = "no file below" if endpoint.is_folder else "no object"
        message = f"there is {what} {endpoint.settings.model_data}"
        yield Finding((*endpoint.path, "model_data"), message)


@PREFLIGHT.rule(
    "PRE-904",
    "The image is there",
    why="Instances pull it when they start. The tag, or the whole repository, may be of another "
    "Region or account.",
    fix="correct services.endpoint.image (aws ecr describe-images), or push the image",
    source=OWN_CONTAINERS,
)
def _image_is_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoint, found = resolved.endpoint, facts.endpoint
    if endpoint and found and found.has_image is False:
        message = f"ECR has no {endpoint.settings.image}"
        yield Finding((*endpoint.path, "image"), message)


@PREFLIGHT.rule(
    "PRE-905",
    "Who asks may look at model and image",
    why="What is closed to who asks is not judged: the role of the endpoint may read both, where "
    "the policies of bucket and repository let it.",
    fix="allow s3:GetObject, s3:ListBucket and ecr:BatchGetImage to who runs preflight; accept it "
    "where they are closed on purpose",
    source="docs/permissions.md",
    severity=Severity.WARNING,
)
def _model_and_image_are_open(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoint, found = resolved.endpoint, facts.endpoint
    if endpoint is None or found is None:
        return
    for key, is_there in (("model_data", found.has_model), ("image", found.has_image)):
        if is_there is None:
            who = facts.caller.arn if facts.caller else "us"
            yield Finding((*endpoint.path, key), f"it is closed to {who}")


@PREFLIGHT.rule(
    "PRE-906",
    "The endpoint is still wanted",
    why="An endpoint costs until its stack is destroyed, also after the day until which it was "
    "wanted.",
    fix="destroy it (slurmpod destroy FILE --only endpoint) and remove services.endpoint, or write "
    "a later day",
    source="docs/services.md",
    severity=Severity.WARNING,
)
def _is_still_wanted(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    day = endpoint.settings.delete_after if endpoint else None
    if endpoint and day and day < facts.taken_at.date().isoformat():
        yield Finding((*endpoint.path, "delete_after"), f"{day} is over")


@PREFLIGHT.rule(
    "PRE-911",
    "The quota allows the notebook instance",
    why="SageMaker has a quota for each type of notebook instances, which is 0 in new accounts for "
    "accelerated types.",
    fix=INCREASE,
    source=QUOTAS,
)
def _type_of_the_notebook(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    notebook = resolved.notebook
    if notebook is None:
        return
    name = f"{notebook.settings.instance_type} for notebook instance usage"
    quota = facts.quota("sagemaker", name)
    if quota is not None and quota < 1:
        message = f"the quota '{name}' is {quota:g}; this needs 1"
        yield Finding((*notebook.path, "instance_type"), message)


@PREFLIGHT.rule(
    "PRE-912",
    "The name of the notebook instance is free",
    why="An account has a notebook instance of a name once in a Region. One that was kept when its "
    "stack was destroyed has the name, and its files.",
    fix="slurmpod adopt takes back what was kept; else choose another name, or delete what has it",
    source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
    "API_CreateNotebookInstance.html",
)
def _name_of_the_notebook_is_free(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    is_new = facts.stacks is not None and facts.will_be_made(resolved.stacks.notebook)
    if facts.notebook_status and is_new:
        message = f"there is a notebook instance {resolved.name} ({facts.notebook_status}) already"
        yield Finding(("name",), message)
