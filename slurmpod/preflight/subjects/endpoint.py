"""The endpoint: its quota, its name, its model and its image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import DENIALS, suppressed
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.quotas import INCREASE, SAGEMAKER_QUOTAS, quota_of
from slurmpod.preflight.subjects.stacks import STACKS, will_be_made
from slurmpod.problems import Severity
from slurmpod.resolve import EcrImage, Resolved, ResolvedEndpoint
from slurmpod.rules.endpoint import OWN_CONTAINERS
from slurmpod.rules.groups import GUIDE
from slurmpod.rules.registry import Finding

MODEL_FILES = f"{GUIDE}large-model-inference-uncompressed.html"
MANIFESTS = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.index.v1+json",
)


@dataclass(frozen=True)
class EndpointFacts:
    """An endpoint with the environment's name, and its model and image: None without access.

    `status` is empty if there is no such endpoint.
    """

    status: str
    has_model: bool | None
    has_image: bool | None


def _endpoint(clients: AwsClients, resolved: Resolved) -> EndpointFacts | None:
    endpoint = resolved.endpoint
    if endpoint is None:
        return None
    return EndpointFacts(
        status=_status(clients, endpoint.name),
        has_model=_has_model(clients, endpoint),
        has_image=_has_image(clients, endpoint.image),
    )


def _status(clients: AwsClients, name: str) -> str:
    with suppressed("ValidationException"):  # could not find it
        return clients.sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"]
    return ""


def _has_model(clients: AwsClients, endpoint: ResolvedEndpoint) -> bool | None:
    """Return whether the archive, or a file in the folder, exists; None without access."""
    bucket, key = endpoint.model_bucket, endpoint.model_key
    with suppressed(*DENIALS):
        with suppressed("404", "NoSuchBucket", "NoSuchKey"):
            if endpoint.is_folder:
                found = clients.s3.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
                return bool(found.get("Contents"))
            clients.s3.head_object(Bucket=bucket, Key=key)
            return True
        return False
    return None


def _has_image(clients: AwsClients, image: EcrImage) -> bool | None:
    """Return whether ECR has the image, in any account; None without access."""
    name = "imageDigest" if image.version.startswith("sha256:") else "imageTag"
    with suppressed(*DENIALS):
        with suppressed("RepositoryNotFoundException"):
            found = clients.ecr.batch_get_image(
                registryId=image.account,
                repositoryName=image.repository,
                imageIds=[{name: image.version}],
                acceptedMediaTypes=list(MANIFESTS),
            )
            return bool(found["images"])
        return False
    return None


ENDPOINT = Question(
    "endpoint",
    "the endpoint, its model and its image",
    ("ecr:BatchGetImage", "s3:GetObject", "s3:ListBucket", "sagemaker:DescribeEndpoint"),
    ("ecr", "s3", "sagemaker"),
    _endpoint,
    lambda resolved: resolved.endpoint is not None,
)


@PREFLIGHT.rule(
    "PRE-901",
    "The quota allows the endpoint's instances",
    why="SageMaker has a quota for each type on endpoints, apart from that of clusters. It is 0 in "
    "new accounts for most accelerated types.",
    fix=INCREASE,
    source=SAGEMAKER_QUOTAS,
)
def _instances_of_the_endpoint(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    if endpoint is None:
        return
    name = f"{endpoint.settings.instance_type} for endpoint usage"
    quota = quota_of(facts, "sagemaker", name)
    if quota is not None and endpoint.most_instances > quota:
        message = f"the quota '{name}' is {quota:g}; this needs {endpoint.most_instances}"
        yield Finding((*endpoint.path, "instance_type"), message)


@PREFLIGHT.rule(
    "PRE-902",
    "The name of the endpoint is free",
    why="Names of endpoints are unique in an account and Region.",
    fix="choose another name for the environment, or delete the endpoint",
    source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateEndpoint.html",
)
def _name_is_free(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    found = facts[ENDPOINT]
    is_new = facts[STACKS] is not None and will_be_made(facts, resolved.stacks.endpoint)
    if found and found.status and is_new:
        message = (
            f"there is an endpoint {resolved.name} ({found.status}) that slurmpod did not create"
        )
        yield Finding(("name",), message)


@PREFLIGHT.rule(
    "PRE-903",
    "The model exists",
    why="Instances download it when they start. Without it the endpoint fails after everything "
    "else was created.",
    fix="correct services.endpoint.model_data, or upload the model",
    source=MODEL_FILES,
)
def _model_is_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoint, found = resolved.endpoint, facts[ENDPOINT]
    if endpoint and found and found.has_model is False:
        what = "no file below" if endpoint.is_folder else "no object"
        message = f"there is {what} {endpoint.settings.model_data}"
        yield Finding((*endpoint.path, "model_data"), message)


@PREFLIGHT.rule(
    "PRE-904",
    "The image exists",
    why="Instances pull it when they start. The tag, or the whole repository, may be in another "
    "Region or account.",
    fix="correct services.endpoint.image (aws ecr describe-images), or push the image",
    source=OWN_CONTAINERS,
)
def _image_is_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoint, found = resolved.endpoint, facts[ENDPOINT]
    if endpoint and found and found.has_image is False:
        message = f"ECR has no {endpoint.settings.image}"
        yield Finding((*endpoint.path, "image"), message)


@PREFLIGHT.rule(
    "PRE-905",
    "The caller may read model and image",
    why="Without access they are not checked: the endpoint's role may read both if the policies "
    "of bucket and repository allow it.",
    fix="allow s3:GetObject, s3:ListBucket and ecr:BatchGetImage to the caller of preflight; "
    "accept it if access is denied on purpose",
    source="docs/permissions.md",
    severity=Severity.WARNING,
)
def _model_and_image_are_open(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    endpoint, found = resolved.endpoint, facts[ENDPOINT]
    if endpoint is None or found is None:
        return
    for key, is_there in (("model_data", found.has_model), ("image", found.has_image)):
        if is_there is None:
            who = facts.caller.arn if facts.caller else "us"
            yield Finding((*endpoint.path, key), f"{who} has no access")


@PREFLIGHT.rule(
    "PRE-906",
    "The endpoint is still wanted",
    why="An endpoint is billed until its stack is destroyed, also after its last day.",
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


QUESTIONS = (ENDPOINT,)
