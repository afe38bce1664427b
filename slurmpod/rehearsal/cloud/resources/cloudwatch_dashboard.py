"""AWS::CloudWatch::Dashboard. moto keeps dashboards without their tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Dashboard(Provider):
    """A dashboard; Ref gives its name."""

    type = "AWS::CloudWatch::Dashboard"
    supported = frozenset({"DashboardBody", "DashboardName", "Tags"})
    in_place = frozenset({"DashboardBody", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Put the dashboard."""
        name = str(request.properties.get("DashboardName") or request.generated_name(255))
        self._put(request, name)
        return name

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Put the dashboard anew."""
        self._put(request, physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the dashboard."""
        request.aws.service("cloudwatch").delete_dashboards(DashboardNames=[physical_id])

    def _put(self, request: ResourceRequest, name: str) -> None:
        """Put the dashboard; raises ProviderError for what CloudWatch cannot show."""
        answer = request.aws.service("cloudwatch").put_dashboard(
            DashboardName=name, DashboardBody=request.properties["DashboardBody"]
        )
        for problem in answer.get("DashboardValidationMessages", []):
            raise ProviderError(f"{problem.get('DataPath', '')}: {problem.get('Message', '')}")
