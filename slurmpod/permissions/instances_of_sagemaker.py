"""Permissions that every role needs with which SageMaker runs instances in your VPC."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slurmpod.permissions.agents import (
    DESCRIBE_NETWORK,
    GUIDE,
    new_interfaces,
    own_interfaces,
)
from slurmpod.permissions.permission import InNetwork, Of, Permission, Target, on_all

KEYS_OF_VOLUMES = f"{GUIDE}encryption-at-rest.html"


def in_your_network(
    policy: str, needed_by: str, source: str, *, why_interfaces: str, why_describing: str
) -> tuple[Permission[InNetwork], ...]:
    """Return what it takes to make, use and remove interfaces in subnets of yours."""
    return (
        Permission(
            policy=policy,
            sid="CreateNetworkInterfaces",
            actions=("ec2:CreateNetworkInterface",),
            resource="network interfaces of the account and Region, in the environment's subnets, "
            "with its security groups only",
            needed_by=needed_by,
            why=why_interfaces,
            source=source,
            targets=new_interfaces,
        ),
        Permission(
            policy=policy,
            sid="ManageNetworkInterfaces",
            actions=(
                "ec2:CreateNetworkInterfacePermission",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ),
            resource="network interfaces of the account and Region",
            needed_by=needed_by,
            why="SageMaker lets its instance use the interface, and removes it in the end.",
            source=source,
            targets=own_interfaces,
        ),
        Permission(
            policy=policy,
            sid="DescribeNetwork",
            actions=DESCRIBE_NETWORK,
            resource="`*`: IAM knows no narrower one",
            needed_by=needed_by,
            why=why_describing,
            source=source,
            targets=on_all,
        ),
    )


def use_of_key(
    policy: str,
    sid: str,
    needed_by: str,
    *,
    resource: str,
    why: str,
    targets: Callable[[Of], Iterable[Target]],
) -> Permission[Of]:
    """Return what it takes to encrypt the volumes of instances with a KMS key."""
    return Permission(
        policy=policy,
        sid=sid,
        actions=("kms:CreateGrant", "kms:DescribeKey"),
        resource=resource,
        needed_by=needed_by,
        why=why,
        source=KEYS_OF_VOLUMES,
        targets=targets,
    )
