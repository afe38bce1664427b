"""AWS::EC2::FlowLog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.ec2_tags import retag, tag_specifications
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class FlowLog(Provider):
    """A flow log of a VPC, subnet or network interface."""

    type = "AWS::EC2::FlowLog"
    supported = frozenset(
        {
            "DeliverLogsPermissionArn",
            "LogDestination",
            "LogDestinationType",
            "LogFormat",
            "LogGroupName",
            "MaxAggregationInterval",
            "ResourceId",
            "ResourceType",
            "Tags",
            "TrafficType",
        }
    )
    in_place = frozenset({"Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the flow log."""
        answer = request.aws.ec2.create_flow_logs(
            ResourceIds=[request.properties["ResourceId"]],
            TagSpecifications=tag_specifications("vpc-flow-log", request),
            **request.given(*sorted(self.supported - {"ResourceId", "Tags"})),
        )
        for failure in answer.get("Unsuccessful", []):
            raise ProviderError(failure["Error"]["Message"])
        return answer["FlowLogIds"][0]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"Id": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set the tags anew."""
        retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the flow log."""
        request.aws.ec2.delete_flow_logs(FlowLogIds=[physical_id])
