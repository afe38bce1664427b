"""Survey of an account for a first environment, with the current credentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable, as_unavailable
from slurmpod.preflight.first_environment import ChosenSubnet
from slurmpod.preflight.subjects.account import ask_caller
from slurmpod.preflight.subjects.existing_network.network import public_subnets
from slurmpod.preflight.subjects.quotas import Quota, ask_quotas
from slurmpod.preflight.subjects.zones import Zone, ask_zones, zones_with


@dataclass(frozen=True)
class OwnVpc:
    """A VPC of the account, its ranges, and its private subnets by the id of their zone.

    If a zone has several, the one with the most free addresses.
    """

    id: str
    cidrs: tuple[str, ...]
    subnets: dict[str, ChosenSubnet]


@dataclass(frozen=True)
class Surroundings:
    """An account and Region: zones, those that offer the type, quotas, VPCs.

    Facts that the caller may not read are empty, and listed in `unseen`.
    """

    zones: tuple[Zone, ...]
    offering: tuple[str, ...]
    quotas: tuple[Quota, ...]
    vpcs: tuple[OwnVpc, ...]
    unseen: tuple[str, ...]


def own_account(clients: AwsClients) -> str:
    """Return the account of the credentials; empty without credentials."""
    try:
        with as_unavailable("find the account"):
            return ask_caller(clients).account
    except AwsUnavailable:
        return ""


def survey(clients: AwsClients, instance_type: str) -> Surroundings:
    """Survey the account and Region."""
    unseen: list[str] = []

    def seen(what: str, ask: Any) -> Any:
        try:
            with as_unavailable(f"look for {what}"):
                return ask()
        except AwsUnavailable as refused:
            unseen.append(str(refused))
            return ()

    offering: Any = seen("zones with the type", lambda: zones_with(clients, [instance_type]))
    return Surroundings(
        zones=seen("zones", lambda: ask_zones(clients)),
        offering=offering[instance_type] if offering else (),
        quotas=seen("quotas", lambda: ask_quotas(clients)),
        vpcs=seen("VPCs", lambda: _vpcs(clients)),
        unseen=tuple(unseen),
    )


def _vpcs(clients: AwsClients) -> tuple[OwnVpc, ...]:
    found = clients.ec2.describe_vpcs()["Vpcs"]
    subnets = clients.ec2.describe_subnets()["Subnets"]
    public = public_subnets(clients.ec2)
    private = [each for each in subnets if each["SubnetId"] not in public]
    return tuple(
        OwnVpc(
            vpc["VpcId"],
            tuple(each["CidrBlock"] for each in vpc["CidrBlockAssociationSet"]),
            {
                each["AvailabilityZoneId"]: ChosenSubnet(
                    vpc["VpcId"], each["SubnetId"], each["CidrBlock"]
                )
                for each in sorted(private, key=lambda each: int(each["AvailableIpAddressCount"]))
                if each["VpcId"] == vpc["VpcId"]
            },
        )
        for vpc in found
    )
