"""What EC2 refuses and moto does not: deleting what network interfaces still use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.resources.provider import ProviderError

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest


def require_unused(request: ResourceRequest, interface_filter: str, resource_id: str) -> None:
    """Raise ProviderError, with EC2's words, if an interface that the filter finds exists."""
    interfaces = request.aws.ec2.describe_network_interfaces(
        Filters=[{"Name": interface_filter, "Values": [resource_id]}]
    )["NetworkInterfaces"]
    users = sorted({interface["Description"] or "?" for interface in interfaces})
    if users:
        raise ProviderError(
            f"resource {resource_id} has dependencies and cannot be deleted (DependencyViolation): "
            f"network interfaces of: {'; '.join(users)}"
        )
