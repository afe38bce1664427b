"""Patches of moto's EC2, so that addresses, endpoints and flow logs behave as on AWS.

- Every network interface gets a free address of its subnet that AWS does not reserve. moto chooses
  at random, even addresses in use, and for NAT gateways and VPC endpoints even outside the subnet.
  Without a requested address, EC2 here takes the highest, so that nodes, which ask for the lowest,
  have the same addresses whatever else is in their subnet.
- The interfaces of an interface endpoint have its security groups and follow its subnets; the
  routes of a gateway endpoint follow its route tables; a deleted endpoint is gone.
- Flow logs may go to a folder of a bucket.

A request for the endpoint service of S3 is answered directly. To list all endpoint services, moto
loads eleven of its services, which takes longer than any other request.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from ipaddress import IPv4Address, IPv4Network
from itertools import islice
from typing import Any

_KEPT_AT_THE_START = 4
"""Network address, router, DNS and one for future use; the last address, the broadcast address, is
reserved too (VPC user guide, Subnet sizing)."""


def patch_network() -> None:
    """Apply the patches; idempotent."""
    from moto.ec2.models import nat_gateways, vpcs
    from moto.ec2.models.elastic_network_interfaces import NetworkInterfaceBackend
    from moto.ec2.models.flow_logs import FlowLogsBackend

    for module in (nat_gateways, vpcs):
        module.random_private_ip = _no_address  # type: ignore[attr-defined]
    wrap(NetworkInterfaceBackend, "create_network_interface", _create_interface)
    wrap(vpcs.VPCBackend, "create_vpc_endpoint", _create_endpoint)
    wrap(vpcs.VPCBackend, "describe_vpc_endpoint_services", _endpoint_services)
    wrap(vpcs.VPCBackend, "modify_vpc_endpoint", _modify_endpoint)
    wrap(vpcs.VPCBackend, "delete_vpc_endpoints", _delete_endpoints)
    wrap(FlowLogsBackend, "create_flow_logs", _create_flow_logs)


def usable_addresses(block: IPv4Network) -> range:
    """Return the addresses of a subnet that AWS does not reserve, as numbers."""
    return range(int(block.network_address) + _KEPT_AT_THE_START, int(block.broadcast_address))


def wrap(backend: type, name: str, replacement: Callable[..., Any]) -> None:
    """Replace a method of moto with `replacement`, which gets the original as first argument."""
    original = getattr(getattr(backend, name), "__wrapped__", getattr(backend, name))

    @wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return replacement(original, self, *args, **kwargs)

    setattr(backend, name, method)


def _no_address() -> str:
    return ""


def _create_interface(
    original: Callable[..., Any],
    ec2: Any,
    subnet: Any,
    address: str | None,
    addresses: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    subnet = ec2.get_subnet(subnet) if isinstance(subnet, str) else subnet
    secondary = int(kwargs.pop("secondary_ips_count", None) or 0)
    listed = sorted(addresses or [], key=lambda item: not item.get("Primary"))
    given = [address] * bool(address) + [item["PrivateIpAddress"] for item in listed]
    taken = _taken(ec2, subnet)
    for one in given:
        _check(one, subnet, taken)
    chosen = given + _highest_free(subnet, taken | set(given), 1 + secondary - len(given))
    described = [{"Primary": one == chosen[0], "PrivateIpAddress": one} for one in chosen]
    return original(ec2, subnet, chosen[0], described, *args, **kwargs)


def _check(address: str, subnet: Any, taken: set[str]) -> None:
    from moto.ec2.exceptions import EC2ClientError

    if int(IPv4Address(address)) not in usable_addresses(subnet.cidr):
        raise EC2ClientError(
            "InvalidParameterValue", "Address does not fall within the subnet's address range"
        )
    if address in taken:
        raise EC2ClientError("InvalidIPAddress.InUse", f"Address {address} is in use.")


def _highest_free(subnet: Any, taken: set[str], count: int) -> list[str]:
    from moto.ec2.exceptions import EC2ClientError

    every = map(str, map(IPv4Address, reversed(usable_addresses(subnet.cidr))))
    chosen = list(islice((address for address in every if address not in taken), max(count, 0)))
    if len(chosen) < count:
        raise EC2ClientError(
            "InsufficientFreeAddressesInSubnet",
            "The specified subnet does not have enough free addresses to satisfy the request.",
        )
    return chosen


def _taken(ec2: Any, subnet: Any) -> set[str]:
    return {
        item["PrivateIpAddress"]
        for interface in ec2.enis.values()
        if interface.subnet.id == subnet.id
        for item in interface.private_ip_addresses
    }


def _create_endpoint(original: Callable[..., Any], ec2: Any, *args: Any, **kwargs: Any) -> Any:
    endpoint = original(ec2, *args, **kwargs)
    _follow(ec2, endpoint)
    return endpoint


def _endpoint_services(
    original: Callable[..., Any], ec2: Any, *, service_names: list[str], region: str, **more: Any
) -> Any:
    from moto.ec2.models import vpcs

    known = vpcs.DEFAULT_VPC_ENDPOINT_SERVICES
    if region in known or service_names != [f"com.amazonaws.{region}.s3"]:
        return original(ec2, service_names=service_names, region=region, **more)
    every = vpcs.IMPLEMENTED_ENDPOINT_SERVICES
    vpcs.IMPLEMENTED_ENDPOINT_SERVICES = ["s3"]
    try:
        return original(ec2, service_names=service_names, region=region, **more)
    finally:
        vpcs.IMPLEMENTED_ENDPOINT_SERVICES = every
        del known[region]  # not the complete list


def _modify_endpoint(
    original: Callable[..., Any], ec2: Any, vpc_id: str, *args: Any, **kwargs: Any
) -> None:
    """Modify an endpoint, whose id moto calls `vpc_id`."""
    original(ec2, vpc_id, *args, **kwargs)
    (endpoint,) = ec2.describe_vpc_endpoints([vpc_id])
    _follow(ec2, endpoint)


def _delete_endpoints(
    original: Callable[..., Any], ec2: Any, vpce_ids: list[str] | None = None
) -> None:
    original(ec2, vpce_ids)
    for endpoint_id in vpce_ids or []:
        ec2.vpc_end_points.pop(endpoint_id, None)


def _follow(ec2: Any, endpoint: Any) -> None:
    """Update an endpoint's interfaces or routes to match its subnets or route tables."""
    if str(endpoint.vpc_endpoint_type).lower() == "interface":
        _follow_subnets(ec2, endpoint)
    else:
        _follow_route_tables(ec2, endpoint)


def _follow_subnets(ec2: Any, endpoint: Any) -> None:
    existing = {ec2.enis[eni_id].subnet.id: eni_id for eni_id in endpoint.network_interface_ids}
    for subnet_id in existing.keys() - set(endpoint.subnet_ids):
        ec2.delete_network_interface(existing.pop(subnet_id))
    for subnet_id in endpoint.subnet_ids:
        if subnet_id not in existing:
            existing[subnet_id] = ec2.create_network_interface(subnet_id, "").id
    endpoint.network_interface_ids = [existing[subnet_id] for subnet_id in endpoint.subnet_ids]
    description = f"VPC Endpoint Interface {endpoint.id}"
    for eni_id in endpoint.network_interface_ids:
        ec2.modify_network_interface_attribute(
            eni_id, endpoint.security_group_ids, description=description
        )


def _follow_route_tables(ec2: Any, endpoint: Any) -> None:
    prefix_list = endpoint.destination_prefix_list_id
    for table in ec2.route_tables.values():
        leads_here = any(
            route.gateway is endpoint and route.destination_prefix_list is not None
            for route in table.routes
        )
        wanted = table.id in endpoint.route_table_ids
        if leads_here and not wanted:
            ec2.delete_route(table.id, None, destination_prefix_list_id=prefix_list)
        if wanted and not leads_here and prefix_list:
            ec2.create_route(
                table.id, None, gateway_id=endpoint.id, destination_prefix_list_id=prefix_list
            )


def _create_flow_logs(original: Callable[..., Any], ec2: Any, **kwargs: Any) -> Any:
    destination = kwargs["log_destination"]
    if kwargs["log_destination_type"] != "s3" or not destination:
        return original(ec2, **kwargs)
    bucket, slash, folder = destination.partition("/")
    created, failed = original(ec2, **{**kwargs, "log_destination": bucket})
    for flow_log in created:
        flow_log.log_destination = f"{bucket}{slash}{folder}"
    return created, failed
