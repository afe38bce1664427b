"""Questions about what services beside the cluster need, and whether their names are taken."""

from __future__ import annotations

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import DENIALS, suppressed
from slurmpod.preflight.facts import EndpointFacts
from slurmpod.preflight.questions.question import Question
from slurmpod.resolve import EcrImage, Resolved, ResolvedEndpoint

MANIFESTS = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.index.v1+json",
)


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
    """Return whether the archive, or a file of the folder, is there; None where that is closed."""
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
    """Return whether ECR has the image, of whatever account; None where that is closed."""
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


def _notebook_status(clients: AwsClients, resolved: Resolved) -> str:
    """Return the status of a notebook instance of the environment's name; empty without one."""
    with suppressed("ValidationException"):  # could not find it
        found = clients.sagemaker.describe_notebook_instance(NotebookInstanceName=resolved.name)
        return found["NotebookInstanceStatus"]
    return ""


QUESTIONS = (
    Question(
        "notebook_status",
        "the notebook instance",
        ("sagemaker:DescribeNotebookInstance",),
        ("sagemaker",),
        _notebook_status,
        lambda resolved: resolved.notebook is not None,
    ),
    Question(
        "endpoint",
        "the endpoint, its model and its image",
        ("ecr:BatchGetImage", "s3:GetObject", "s3:ListBucket", "sagemaker:DescribeEndpoint"),
        ("ecr", "s3", "sagemaker"),
        _endpoint,
        lambda resolved: resolved.endpoint is not None,
    ),
)
