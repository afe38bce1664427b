"""AWS::Budgets::Budget. The embedded AWS keeps budgets; nothing is ever spent.

moto has no UpdateBudget and no tags of budgets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.constraints import summary, violations
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

EMAILS, TOPICS = 10, 1
"""Subscribers of one notification (API reference, NotificationWithSubscribers)."""


class Budget(Provider):
    """A budget with its notifications; Ref gives its name."""

    type = "AWS::Budgets::Budget"
    supported = frozenset({"Budget", "NotificationsWithSubscribers", "ResourceTags"})
    in_place = frozenset({"Budget", "ResourceTags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the budget."""
        name = request.properties["Budget"].get("BudgetName") or request.generated_name(100)
        self._create(request, name)
        return str(name)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the name under its other name."""
        return {"Id": physical_id}

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Make the budget anew under its name."""
        self.delete(request, physical_id)
        self._create(request, physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the budget."""
        request.aws.service("budgets").delete_budget(
            AccountId=request.aws.account, BudgetName=physical_id
        )

    def _create(self, request: ResourceRequest, name: str) -> None:
        arguments = {
            "AccountId": request.aws.account,
            "Budget": {**_as_text(request.properties["Budget"]), "BudgetName": name},
            "NotificationsWithSubscribers": request.properties.get(
                "NotificationsWithSubscribers", []
            ),
        }
        problems = violations("budgets", "CreateBudget", arguments)
        if problems:
            raise ProviderError(summary(problems))
        _check_notifications(arguments["NotificationsWithSubscribers"])
        request.aws.service("budgets").create_budget(**arguments)


def _as_text(budget: Mapping[str, Any]) -> dict[str, Any]:
    """Return the budget as the API takes it, with amounts as text."""
    limit = budget.get("BudgetLimit")
    if not limit:
        return dict(budget)
    return {**budget, "BudgetLimit": {**limit, "Amount": str(limit["Amount"])}}


def _check_notifications(notifications: list[Any]) -> None:
    """Raise ProviderError for what the service refuses beyond the form of the request."""
    seen: list[Any] = []
    for each in notifications:
        if each["Notification"] in seen:
            raise ProviderError("Duplicate notifications are not allowed")
        seen.append(each["Notification"])
        kinds = [subscriber["SubscriptionType"] for subscriber in each["Subscribers"]]
        if kinds.count("EMAIL") > EMAILS or kinds.count("SNS") > TOPICS:
            raise ProviderError("Notification exceeds the limit of subscribers")
