"""Names of the resources for Systems Manager sessions, known before deployment."""

from __future__ import annotations

from slurmpod.resolve.environment import shortened_bucket_name
from slurmpod.resolve.resolved import Resolved
from slurmpod.value import Value

SESSION_PREFIX = "sessions/"
"""The prefix of session records in their bucket."""

INSTANCE_ID_PATTERN = "i-" + "?" * 17
"""An instance id, as IAM's StringLike writes it: character by character, so that no other group
with the same prefix matches.
"""


class SessionNames(Value):
    """Names that people use; IAM policies are unique per account.

    They fit the limits (policy and document 128, bucket 63 characters) even for the longest name of
    an environment. Session records go to `log_group`, to `bucket`, or to neither.
    """

    document: str
    log_group: str | None
    bucket: str | None
    administrators_policy: str
    users_policy: str


def session_names(resolved: Resolved) -> SessionNames:
    """Return the names of the document, the destinations of records, and the policies."""
    name, region = resolved.name, resolved.region
    record = resolved.access.sessions.record if resolved.access.sessions else "none"
    bucket = shortened_bucket_name(f"slurmpod-{name}-sessions-{resolved.account}-{region}")
    return SessionNames(
        document=f"slurmpod-{name}-session",
        log_group=log_group_of_sessions(name) if record == "cloudwatch" else None,
        bucket=bucket if record == "s3" else None,
        administrators_policy=f"{name}-cluster-administrators-{region}",
        users_policy=f"{name}-cluster-users-{region}",
    )


def log_group_of_sessions(environment: str) -> str:
    """Return the log group of current or earlier session records."""
    return f"/slurmpod/{environment}/sessions"


def session_target(cluster_id: str, group: str, instance_id: str) -> str:
    """Return Session Manager's target name of a node.

    Source: SageMaker HyperPod developer guide, "Access your SageMaker HyperPod cluster nodes".
    """
    return f"sagemaker-cluster:{cluster_id}_{group}-{instance_id}"
