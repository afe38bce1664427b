"""Budgets, which are stored only; nothing is ever spent.

moto has neither UpdateBudget nor tags of budgets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embedded_aws.resources.api_resource import ApiResource, require_valid
from embedded_aws.resources.provider import ProviderError, ResourceRequest

EMAILS, TOPICS = 10, 1
"""Subscribers of one notification (API reference, NotificationWithSubscribers)."""


class Budget(ApiResource):
    """A budget with its notifications; Ref gives its name."""

    type = "AWS::Budgets::Budget"
    supported = frozenset({"Budget", "NotificationsWithSubscribers", "ResourceTags"})
    in_place = frozenset({"Budget", "ResourceTags"})
    service = "budgets"
    creation, deletion = "create_budget", "delete_budget"
    identity = "BudgetName"
    id_attributes = ("Id",)

    def create(self, request: ResourceRequest) -> str:
        """Create the budget."""
        name = str(request.properties["Budget"].get("BudgetName") or request.generated_name(100))
        self._create(request, name)
        return name

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Delete the budget and create it again under the same name."""
        self.delete(request, physical_id)
        self._create(request, physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the budget."""
        arguments = {"AccountId": request.aws.account, "BudgetName": physical_id}
        self.call(request, self.deletion, arguments)

    def _create(self, request: ResourceRequest, name: str) -> None:
        notifications = request.properties.get("NotificationsWithSubscribers", [])
        arguments = {
            "AccountId": request.aws.account,
            "Budget": {**_as_text(request.properties["Budget"]), "BudgetName": name},
            "NotificationsWithSubscribers": notifications,
        }
        require_valid("budgets", "CreateBudget", arguments)
        _check_notifications(notifications)
        self.call(request, self.creation, arguments)


def _as_text(budget: Mapping[str, Any]) -> dict[str, Any]:
    """Return the budget in the API's form, with amounts as text."""
    limit = budget.get("BudgetLimit")
    if not limit:
        return dict(budget)
    return {**budget, "BudgetLimit": {**limit, "Amount": str(limit["Amount"])}}


def _check_notifications(notifications: list[Any]) -> None:
    """Raise ProviderError for duplicate notifications and too many subscribers."""
    seen: list[Any] = []
    for each in notifications:
        if each["Notification"] in seen:
            raise ProviderError("Duplicate notifications are not allowed")
        seen.append(each["Notification"])
        kinds = [subscriber["SubscriptionType"] for subscriber in each["Subscribers"]]
        if kinds.count("EMAIL") > EMAILS or kinds.count("SNS") > TOPICS:
            raise ProviderError("Notification exceeds the limit of subscribers")
