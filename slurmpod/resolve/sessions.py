"""Names of what belongs to sessions through Systems Manager, known before anything is made."""

from __future__ import annotations

from slurmpod.resolve.environment import shortened_bucket_name
from slurmpod.resolve.resolved import Resolved
from slurmpod.value import Value

SESSION_PREFIX = "sessions/"
"""Where in their bucket the records of sessions lie."""

INSTANCE_ID_PATTERN = "i-" + "?" * 17
"""An instance id, as IAM's StringLike writes it: letter for letter, so that no name of another
group that begins the same way can match."""


class SessionNames(Value):
    """Names that people attach, type and look for; policies of IAM are there once per account.

    They are no longer than they may be (policy and document 128, bucket 63 characters), also for
    the longest name of an environment. `log_group` or `bucket` has the records of sessions, or
    neither has.
    """

    document: str
    log_group: str | None
    bucket: str | None
    administrators_policy: str
    users_policy: str


def session_names(resolved: Resolved) -> SessionNames:
    """Name the document, the places for records, and the policies of an environment."""
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
    """Return the log group that has records of sessions, now or from before."""
    return f"/slurmpod/{environment}/sessions"


def session_target(cluster_id: str, group: str, instance_id: str) -> str:
    """Return how Session Manager names a node of a cluster.

    Source: SageMaker HyperPod developer guide, "Access your SageMaker HyperPod cluster nodes".
    """
    return f"sagemaker-cluster:{cluster_id}_{group}-{instance_id}"
