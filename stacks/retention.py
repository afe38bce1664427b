"""Retention of data when their stack is deleted: kept, unless the environment says otherwise."""

from __future__ import annotations

from aws_cdk import CfnResource, RemovalPolicy

from slurmpod.environment.slurm import RdsOnDelete

_POLICIES = {
    "retain": RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    "snapshot": RemovalPolicy.SNAPSHOT,
    "delete": RemovalPolicy.DESTROY,
}


def apply_on_delete(resource: CfnResource, on_delete: RdsOnDelete) -> None:
    """Keep or delete the data of `resource` when it is removed or replaced.

    A snapshot is only for types of which CloudFormation can take one, such as RDS servers. Retained
    resources whose creation fails are still rolled back: they hold no data yet.
    """
    resource.apply_removal_policy(_POLICIES[on_delete])
