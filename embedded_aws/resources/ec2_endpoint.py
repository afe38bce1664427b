"""EC2: VPC endpoints, with the refusals of EC2 that moto lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.resources.api_resource import DescribeCall
from embedded_aws.resources.ec2_network import Ec2Resource
from embedded_aws.resources.provider import ProviderError, ResourceRequest

_MEMBERS = ("RouteTableIds", "SecurityGroupIds", "SubnetIds")


class VpcEndpoint(Ec2Resource):
    """A gateway endpoint (S3), or an interface endpoint with one address in each subnet."""

    type = "AWS::EC2::VPCEndpoint"
    kind = "vpc-endpoint"
    in_place = frozenset({*_MEMBERS, "PolicyDocument", "Tags"})
    supported = in_place | {"PrivateDnsEnabled", "ServiceName", "VpcEndpointType", "VpcId"}
    as_json = frozenset({"PolicyDocument"})
    creation, change = "create_vpc_endpoint", "modify_vpc_endpoint"
    deletion = "delete_vpc_endpoints"
    identity = "VpcEndpointId"
    deleted_by = "VpcEndpointIds"
    answer = ("VpcEndpoint", "VpcEndpointId")
    described_by = DescribeCall("describe_vpc_endpoints", "VpcEndpointIds", ("VpcEndpoints", 0))

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties, with CloudFormation's defaults."""
        defaults = {"PrivateDnsEnabled": False, "VpcEndpointType": "Gateway"}
        return {**defaults, **super().arguments(request)}

    def create(self, request: ResourceRequest) -> str:
        """Create the endpoint."""
        properties = request.properties
        if properties.get("VpcEndpointType") == "Interface":
            check_interface(request.aws, properties)
        else:
            check_gateway(request.aws, properties, added=properties.get("RouteTableIds", []))
        return super().create(request)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the parts of the endpoint."""
        endpoint = self.described(request.aws, physical_id)
        entries = endpoint.get("DnsEntries", [])
        return {
            "Id": physical_id,
            "CreationTimestamp": endpoint["CreationTimestamp"].isoformat(),
            "DnsEntries": [f"{entry['HostedZoneId']}:{entry['DnsName']}" for entry in entries],
            "NetworkInterfaceIds": endpoint.get("NetworkInterfaceIds", []),
        }

    def changes(self, request: ResourceRequest, previous: Mapping[str, Any]) -> dict[str, Any]:
        """Return the policy, and the added and removed tables, subnets and groups."""
        changes = self.written(request.given("PolicyDocument"))
        for kind in _MEMBERS:
            old, new = set(previous.get(kind, [])), set(request.properties.get(kind, []))
            changes |= {f"Add{kind}": sorted(new - old), f"Remove{kind}": sorted(old - new)}
        check_gateway(request.aws, request.properties, added=changes["AddRouteTableIds"])
        return {name: value for name, value in changes.items() if value}


def check_interface(aws: Clients, properties: Mapping[str, Any]) -> None:
    """Raise ProviderError for an interface endpoint that cannot be created.

    A service, subnet or security group that does not exist raises EC2's own error.
    """
    service = _service(aws, properties["ServiceName"], "Interface")
    vpc_id, subnet_ids = properties["VpcId"], properties.get("SubnetIds", [])
    groups = properties.get("SecurityGroupIds")
    subnets = aws.ec2.describe_subnets(SubnetIds=subnet_ids)["Subnets"] if subnet_ids else []
    if groups:
        described = aws.ec2.describe_security_groups(GroupIds=groups)["SecurityGroups"]
        _require_same_vpc(vpc_id, ((group["GroupId"], group["VpcId"]) for group in described))
    _require_same_vpc(vpc_id, ((subnet["SubnetId"], subnet["VpcId"]) for subnet in subnets))
    _check_zones(service, subnets)
    if properties.get("PrivateDnsEnabled"):
        _check_private_dns(aws, vpc_id, service)


def check_gateway(aws: Clients, properties: Mapping[str, Any], *, added: list[str]) -> None:
    """Raise ProviderError for a gateway endpoint that cannot get routes in the `added` tables."""
    if not added:
        return
    _service(aws, properties["ServiceName"], "Gateway")
    prefix_lists = aws.ec2.describe_managed_prefix_lists(
        Filters=[{"Name": "prefix-list-name", "Values": [properties["ServiceName"]]}]
    )["PrefixLists"]
    tables = aws.ec2.describe_route_tables(RouteTableIds=added)["RouteTables"]
    _require_same_vpc(properties["VpcId"], ((t["RouteTableId"], t["VpcId"]) for t in tables))
    for table in tables:
        taken = {route.get("DestinationPrefixListId") for route in table["Routes"]}
        for prefix_list in prefix_lists:
            if prefix_list["PrefixListId"] in taken:
                raise ProviderError(
                    f"route table {table['RouteTableId']} already has a route with "
                    f"destination-prefix-list-id {prefix_list['PrefixListId']}"
                )


def _service(aws: Clients, name: str, kind: str) -> Mapping[str, Any]:
    details = aws.ec2.describe_vpc_endpoint_services(ServiceNames=[name])["ServiceDetails"]
    kinds = [item["ServiceType"] for service in details for item in service["ServiceType"]]
    for service in details:
        if any(item["ServiceType"] == kind for item in service["ServiceType"]):
            return service
    raise ProviderError(
        f"Endpoint type ({kind}) does not match available service types ([{', '.join(kinds)}])."
    )


def _require_same_vpc(vpc_id: str, members: Iterable[tuple[str, str]]) -> None:
    for member, its_vpc in members:
        if its_vpc != vpc_id:
            raise ProviderError(f"{member} belongs to {its_vpc}, not to {vpc_id}")


def _check_zones(service: Mapping[str, Any], subnets: Iterable[Mapping[str, Any]]) -> None:
    zones: set[str] = set()
    for subnet in subnets:
        subnet_id, zone = subnet["SubnetId"], subnet["AvailabilityZone"]
        if zone not in service["AvailabilityZones"]:
            raise ProviderError(
                f"The VPC endpoint service {service['ServiceName']} does not support the "
                f"availability zone of the subnet: {subnet_id}."
            )
        if zone in zones:
            raise ProviderError(
                f"Found another VPC endpoint subnet in the availability zone of {subnet_id} "
                "(DuplicateSubnetsInSameZone)"
            )
        zones.add(zone)


def _check_private_dns(aws: Clients, vpc_id: str, service: Mapping[str, Any]) -> None:
    support = aws.ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute="enableDnsSupport")
    hostnames = aws.ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute="enableDnsHostnames")
    if not (support["EnableDnsSupport"]["Value"] and hostnames["EnableDnsHostnames"]["Value"]):
        raise ProviderError(
            "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC "
            f"attributes set to true for {vpc_id}"
        )
    for endpoint in aws.ec2.describe_vpc_endpoints()["VpcEndpoints"]:
        same_service = endpoint["ServiceName"] == service["ServiceName"]
        if endpoint["VpcId"] == vpc_id and same_service and endpoint["PrivateDnsEnabled"]:
            raise ProviderError(
                "private-dns-enabled cannot be set because there is already a conflicting DNS "
                f"domain for {service['PrivateDnsName']} in the VPC {vpc_id}"
            )
