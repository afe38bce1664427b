"""Time and pace of HyperPod's updates of the nodes of a group.

Source: SageMaker API reference, ClusterInstanceGroupSpecification.
"""

from __future__ import annotations

from slurmpod.deploy.cluster_request.members import Request, given
from slurmpod.environment.cluster import AutoPatch, Rollout, ScheduledUpdate


def scheduled_update(update: ScheduledUpdate | None) -> Request | None:
    """Return when the software of a group is updated; None where nothing is planned."""
    if update is None:
        return None
    return given(ScheduleExpression=update.schedule, DeploymentConfig=_rollout(update.rollout))


def auto_patch(patch: AutoPatch | None) -> Request | None:
    """Return how HyperPod patches a group by itself; None where nothing is said of it."""
    if patch is None:
        return None
    return given(PatchingStrategy=patch.strategy, DeploymentConfig=_rollout(patch.rollout))


def _rollout(rollout: Rollout | None) -> Request | None:
    if rollout is None:
        return None
    alarms = [{"AlarmName": name} for name in rollout.rollback_alarms]
    return given(
        RollingUpdatePolicy=_policy(rollout),
        WaitIntervalInSeconds=rollout.wait_seconds,
        AutoRollbackConfiguration=alarms or None,
    )


def _policy(rollout: Rollout) -> Request | None:
    batch = _batch(rollout.batch_count, rollout.batch_percent)
    if batch is None:
        return None
    return given(
        MaximumBatchSize=batch,
        RollbackMaximumBatchSize=_batch(
            rollout.rollback_batch_count, rollout.rollback_batch_percent
        ),
    )


def _batch(count: int | None, percent: int | None) -> Request | None:
    if count is not None:
        return {"Type": "INSTANCE_COUNT", "Value": count}
    if percent is not None:
        return {"Type": "CAPACITY_PERCENTAGE", "Value": percent}
    return None
