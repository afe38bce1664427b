"""Retention of data when their stack goes: they are kept, unless the environment says otherwise."""

from __future__ import annotations

from aws_cdk import CfnResource, RemovalPolicy

from slurmpod.environment.slurm import RdsOnDelete

_POLICIES = {
    "retain": RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    "snapshot": RemovalPolicy.SNAPSHOT,
    "delete": RemovalPolicy.DESTROY,
}


def apply_on_delete(resource: CfnResource, on_delete: RdsOnDelete) -> None:
    """Keep or delete what `resource` holds when it is removed or replaced.

    A snapshot is for what CloudFormation can make one of, such as servers of RDS.
    Kept resources that could not be created are rolled back all the same: they hold nothing yet.
    """
    resource.apply_removal_policy(_POLICIES[on_delete])
