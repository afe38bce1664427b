"""Permissions of the role of a notebook instance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY

from slurmpod.permissions.agents import GUIDE
from slurmpod.permissions.instances_of_sagemaker import in_your_network, use_of_key
from slurmpod.permissions.permission import (
    Grant,
    InNetwork,
    Permission,
    Policy,
    Target,
    grants_of,
)
from slurmpod.resolve import Resolved, ResolvedEndpoint, ResolvedNotebook

NOTEBOOK_LOGS = "/aws/sagemaker/NotebookInstances"
NOTEBOOK_ROLE = f"{GUIDE}sagemaker-roles.html#sagemaker-roles-createnotebookinstance-perms"
RUNNING = "SageMaker, for the notebook instance"


class NotebookScope(InNetwork):
    """The subject of the notebook's permissions: itself, its key, and the endpoint, if any."""

    _: KW_ONLY
    notebook: ResolvedNotebook
    endpoint: ResolvedEndpoint | None
    kms_key_arn: str


def notebook_scope(
    resolved: Resolved,
    notebook: ResolvedNotebook,
    *,
    subnet_ids: tuple[str, ...],
    security_group_ids: tuple[str, ...],
    kms_key_arn: str,
) -> NotebookScope:
    """Return the notebook instance of an environment."""
    return NotebookScope(
        aws_partition=resolved.aws_partition,
        region=resolved.region,
        account=resolved.account,
        subnet_ids=subnet_ids,
        security_group_ids=security_group_ids,
        notebook=notebook,
        endpoint=resolved.endpoint,
        kms_key_arn=kms_key_arn,
    )


def notebook_grants(scope: NotebookScope) -> tuple[Grant, ...]:
    """Return the permissions of the notebook's role."""
    return grants_of(NOTEBOOK, scope)


def _itself(scope: NotebookScope) -> Iterator[Target]:
    yield Target((scope.arn("sagemaker", f"notebook-instance/{scope.notebook.name}"),))


def _endpoint_to_call(scope: NotebookScope) -> Iterator[Target]:
    if scope.endpoint:
        yield Target((scope.arn("sagemaker", f"endpoint/{scope.endpoint.name}"),))


def _notebook_log_group(scope: NotebookScope) -> Iterator[Target]:
    yield Target((scope.arn("logs", f"log-group:{NOTEBOOK_LOGS}"),))


def _notebook_streams(scope: NotebookScope) -> Iterator[Target]:
    streams = f"log-group:{NOTEBOOK_LOGS}:log-stream:{scope.notebook.name}/*"
    yield Target((scope.arn("logs", streams),))


def _notebook_key(scope: NotebookScope) -> Iterator[Target]:
    yield Target((scope.kms_key_arn,))


_NOTEBOOK = Policy("Notebook", needed_by=RUNNING, source=NOTEBOOK_ROLE)

NOTEBOOK: tuple[Permission[NotebookScope], ...] = (
    _NOTEBOOK.allows(
        sid="StopItself",
        actions=("sagemaker:StopNotebookInstance",),
        resource="the notebook instance itself",
        needed_by="the timer on the notebook instance",
        why="It stops when idle.",
        targets=_itself,
    ),
    _NOTEBOOK.allows(
        sid="CallEndpoint",
        actions=("sagemaker:InvokeEndpoint",),
        resource="the endpoint of the environment, if there is one",
        needed_by="notebooks",
        why="Users call the model.",
        source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
        "API_runtime_InvokeEndpoint.html",
        targets=_endpoint_to_call,
    ),
    _NOTEBOOK.allows(
        sid="CreateLogGroup",
        actions=("logs:CreateLogGroup",),
        resource=f"the log group {NOTEBOOK_LOGS}, which all notebook instances share",
        why="The output of Jupyter and of the start script is logged.",
        targets=_notebook_log_group,
    ),
    _NOTEBOOK.allows(
        sid="WriteLog",
        actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
        resource="log streams of this notebook instance there",
        why="The output of Jupyter and of the start script is logged.",
        targets=_notebook_streams,
    ),
    *in_your_network(
        _NOTEBOOK,
        why_interfaces="An interface puts the instance into your VPC.",
        why_describing="SageMaker reads the subnet and the security groups.",
    ),
    use_of_key(
        _NOTEBOOK,
        "UseKeyOfVolume",
        resource="the key of the volume",
        why="SageMaker encrypts the volume with it.",
        targets=_notebook_key,
    ),
)
