"""Permissions of every role with which SageMaker runs instances in your VPC."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slurmpod.permissions.agents import (
    DESCRIBE_NETWORK,
    GUIDE,
    new_interfaces,
    own_interfaces,
)
from slurmpod.permissions.permission import InNetwork, Of, Permission, Policy, Target, on_all

KEYS_OF_VOLUMES = f"{GUIDE}encryption-at-rest.html"


def in_your_network(
    policy: Policy, *, why_interfaces: str, why_describing: str
) -> tuple[Permission[InNetwork], ...]:
    """Return the permissions to create, use and delete interfaces in your subnets."""
    return (
        policy.allows(
            sid="CreateNetworkInterfaces",
            actions=("ec2:CreateNetworkInterface",),
            resource="network interfaces of the account and Region, in the environment's subnets, "
            "with its security groups only",
            why=why_interfaces,
            targets=new_interfaces,
        ),
        policy.allows(
            sid="ManageNetworkInterfaces",
            actions=(
                "ec2:CreateNetworkInterfacePermission",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ),
            resource="network interfaces of the account and Region",
            why="SageMaker attaches the interface to its instance, and finally deletes it.",
            targets=own_interfaces,
        ),
        policy.allows(
            sid="DescribeNetwork",
            actions=DESCRIBE_NETWORK,
            resource="`*`: IAM supports no narrower resource",
            why=why_describing,
            targets=on_all,
        ),
    )


def use_of_key(
    policy: Policy,
    sid: str,
    *,
    resource: str,
    why: str,
    targets: Callable[[Of], Iterable[Target]],
) -> Permission[Of]:
    """Return the permissions to encrypt the volumes of instances with a KMS key."""
    return policy.allows(
        sid=sid,
        actions=("kms:CreateGrant", "kms:DescribeKey"),
        resource=resource,
        why=why,
        source=KEYS_OF_VOLUMES,
        targets=targets,
    )
