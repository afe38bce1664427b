"""Parts that an app passes to an environment instead of those that its file would name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from aws_cdk import Token, aws_ec2, aws_iam

from slurmpod.environment.cluster import Role
from slurmpod.environment.environment import Environment
from slurmpod.environment.identity import ExistingRoles
from slurmpod.environment.network import ExistingNetwork, ExistingSubnet
from slurmpod.environment.regions import partition_of
from slurmpod_cdk.network.stack import NetworkIds

DUMMY = "dummy"
"""Prefix of the zones of a VPC that the CDK CLI has not looked up yet."""

ID_DIGITS = 17


class Unusable(ValueError):
    """The app's arguments do not fit the environment; the text says why and what to do."""


@dataclass(frozen=True)
class SuppliedNetwork:
    """A VPC with one private subnet for each zone in the environment file.

    Without security groups, one is created for nodes and file systems. Endpoints are never created:
    the VPC belongs to the app.
    """

    vpc: aws_ec2.IVpc
    subnets: Mapping[str, aws_ec2.ISubnet]
    security_groups: Sequence[aws_ec2.ISecurityGroup] = ()

    @property
    def ids(self) -> NetworkIds:
        """The ids of the network: tokens, or ids of imported resources."""
        return NetworkIds(
            self.vpc.vpc_id,
            {zone: subnet.subnet_id for zone, subnet in self.subnets.items()},
            [group.security_group_id for group in self.security_groups],
        )

    def described(self, *, closed: bool) -> ExistingNetwork:
        """Return the network as a file would describe it."""
        return ExistingNetwork.model_construct(
            vpc_id=_stable(self.vpc.vpc_id, self.vpc.node.path),
            subnets=tuple(
                ExistingSubnet.model_construct(
                    id=_stable(subnet.subnet_id, _made_up("subnet", f"{zone} {subnet.node.path}")),
                    zone=zone,
                    cidr=_cidr(subnet),
                )
                for zone, subnet in self.subnets.items()
            ),
            security_group_ids=tuple(
                _stable(group.security_group_id, _made_up("sg", group.node.path))
                for group in self.security_groups
            ),
            has_endpoints=closed,
        )


@dataclass(frozen=True)
class Given:
    """All parts that an app passes to one environment; roles are by role of the groups."""

    network: SuppliedNetwork | None = None
    roles: Mapping[Role, aws_iam.IRole] = field(default_factory=dict)

    @property
    def role_arns(self) -> Mapping[Role, str]:
        """The execution roles of nodes: tokens, or ARNs of imported roles."""
        return {role: given.role_arn for role, given in self.roles.items()}

    def applied_to(self, environment: Environment) -> Environment:
        """Return the environment as if its file described the given parts.

        Ids are replaced by stable texts; the numbers in tokens change with every construct before
        them.
        """
        network, identity = environment.network, environment.identity
        if self.network:
            existing = self.network.described(closed=network.closed)
            update = {"existing": existing, "other_zones": ()}
            network = network.model_copy(update=update)
        if self.roles:
            identity = identity.model_copy(update={"existing": self._described_roles(environment)})
        return environment.model_copy(update={"network": network, "identity": identity})

    def _described_roles(self, environment: Environment) -> ExistingRoles:
        here = f"arn:{partition_of(environment.region)}:iam::{environment.account}:role"
        arns = {
            role: _stable(each.role_arn, f"{here}/{each.node.path}")
            for role, each in self.roles.items()
        }
        return ExistingRoles.model_construct(
            controller=arns[Role.CONTROLLER], login=arns[Role.LOGIN], worker=arns[Role.WORKER]
        )


def given_network(
    environment: Environment,
    vpc: aws_ec2.IVpc,
    subnets: Mapping[str, aws_ec2.ISubnet] | None,
    security_groups: Sequence[aws_ec2.ISecurityGroup],
) -> SuppliedNetwork:
    """Find the subnets of an environment's zones in a VPC.

    Raises:
        Unusable: The file also describes a VPC, or this one lacks a subnet that it needs.
    """
    if environment.network.existing:
        raise Unusable(
            f"the file describes a VPC under network.existing, and the app gives {vpc.node.path}\n"
            "  fix: remove network.existing, or the argument vpc"
        )
    _refuse_elsewhere(environment, vpc)
    zones = [environment.network.zone, *(each.zone for each in environment.network.other_zones)]
    found = dict(subnets) if subnets else _private_subnets(vpc, zones)
    if lacking := [zone for zone in zones if zone not in found]:
        raise Unusable(
            f"the subnets that the app gives are in {', '.join(found)}, and the file names "
            f"{', '.join(lacking)}\n  fix: give a subnet for each zone of the file"
        )
    return SuppliedNetwork(vpc, found, tuple(security_groups))


def given_roles(
    environment: Environment, roles: Mapping[str, aws_iam.IRole]
) -> Mapping[Role, aws_iam.IRole]:
    """Return the execution role for each role of the groups, by default that of controllers.

    Raises:
        Unusable: The file also names roles, or those of the app match no groups.
    """
    if environment.identity.existing:
        raise Unusable(
            "the file names roles under identity.existing, and the app gives some, too\n"
            "  fix: remove identity.existing, or the argument roles"
        )
    if "controller" not in roles or not set(roles) <= set(Role):
        raise Unusable(
            f"the roles that the app gives are for {', '.join(roles)}\n"
            "  fix: give one for controller, which the others share, or also for login and worker"
        )
    return {role: roles.get(role, roles["controller"]) for role in Role}


def _refuse_elsewhere(environment: Environment, vpc: aws_ec2.IVpc) -> None:
    """Refuse a VPC in another account or Region, or in a stack without an explicit Region."""
    fix = "  fix: give the stack of the VPC env=Environment(account=..., region=...) of the file"
    if Token.is_unresolved(vpc.vpc_id) and Token.is_unresolved(vpc.env.region):
        raise Unusable(f"the stack that makes {vpc.node.path} has no Region\n{fix}")
    of_vpc = (vpc.env.account, vpc.env.region)
    of_file = (environment.account, environment.region)
    for has, needs in zip(of_vpc, of_file, strict=True):
        if not Token.is_unresolved(has) and has != needs:
            raise Unusable(
                f"{vpc.node.path} is in {has}, and the file describes a cluster in {needs}\n{fix}"
            )


def _private_subnets(vpc: aws_ec2.IVpc, zones: Sequence[str]) -> dict[str, aws_ec2.ISubnet]:
    """Return the one private subnet of each zone."""
    private = [*vpc.private_subnets, *vpc.isolated_subnets]
    if private and private[0].availability_zone.startswith(DUMMY):
        return dict.fromkeys(zones, private[0])
    return {zone: _only_subnet(vpc, private, zone) for zone in zones}


def _only_subnet(
    vpc: aws_ec2.IVpc, private: Iterable[aws_ec2.ISubnet], zone: str
) -> aws_ec2.ISubnet:
    inside = [subnet for subnet in private if subnet.availability_zone == zone]
    if len(inside) == 1:
        return inside[0]
    what = "several private subnets" if inside else "no private subnet"
    raise Unusable(
        f"{vpc.node.path} has {what} in the zone {zone}\n"
        f"  fix: choose one with subnets={{'{zone}': subnet}}"
    )


def _stable(id_: str, stand_in: str) -> str:
    """Return a known id, or a placeholder for an unknown one."""
    return stand_in if Token.is_unresolved(id_) else id_


def _made_up(kind: str, path: str) -> str:
    """Return a made-up id in EC2's format, because rules check the request that contains it."""
    return f"{kind}-{hashlib.sha256(path.encode()).hexdigest()[:ID_DIGITS]}"


def _cidr(subnet: aws_ec2.ISubnet) -> IPv4Network | None:
    """Return the address range of a subnet if known; imported subnets may lack it."""
    with suppress(RuntimeError, ValueError):
        return IPv4Network(subnet.ipv4_cidr_block)
    return None
