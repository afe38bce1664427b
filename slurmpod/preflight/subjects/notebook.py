"""The notebook instance: its quota and its name."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.quotas import INCREASE, SAGEMAKER_QUOTAS, quota_of
from slurmpod.preflight.subjects.stacks import STACKS, will_be_made
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding


def _notebook_status(clients: AwsClients, resolved: Resolved) -> str:
    """Return the status of a notebook instance with the environment's name; empty without one."""
    with suppressed("ValidationException"):  # could not find it
        found = clients.sagemaker.describe_notebook_instance(NotebookInstanceName=resolved.name)
        return found["NotebookInstanceStatus"]
    return ""


NOTEBOOK_STATUS = Question(
    "notebook_status",
    "the notebook instance",
    ("sagemaker:DescribeNotebookInstance",),
    ("sagemaker",),
    _notebook_status,
    lambda resolved: resolved.notebook is not None,
)


@PREFLIGHT.rule(
    "PRE-911",
    "The quota allows the notebook instance",
    why="SageMaker has a quota for each type of notebook instances, which is 0 in new accounts for "
    "accelerated types.",
    fix=INCREASE,
    source=SAGEMAKER_QUOTAS,
)
def _type_of_the_notebook(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    notebook = resolved.notebook
    if notebook is None:
        return
    name = f"{notebook.settings.instance_type} for notebook instance usage"
    quota = quota_of(facts, "sagemaker", name)
    if quota is not None and quota < 1:
        message = f"the quota '{name}' is {quota:g}; this needs 1"
        yield Finding((*notebook.path, "instance_type"), message)


@PREFLIGHT.rule(
    "PRE-912",
    "The name of the notebook instance is free",
    why="Names of notebook instances are unique in an account and Region. An instance that was "
    "kept when its stack was destroyed has the name, and its files.",
    fix="adopt a kept instance with slurmpod adopt; otherwise choose another name, or delete "
    "the instance",
    source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
    "API_CreateNotebookInstance.html",
)
def _name_of_the_notebook_is_free(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    is_new = facts[STACKS] is not None and will_be_made(facts, resolved.stacks.notebook)
    status = facts[NOTEBOOK_STATUS]
    if status and is_new:
        message = f"there is already a notebook instance {resolved.name} ({status})"
        yield Finding(("name",), message)


QUESTIONS = (NOTEBOOK_STATUS,)
