"""The monthly budget of the environment, with warnings before it is spent."""

from __future__ import annotations

from collections.abc import Iterator

from aws_cdk import aws_budgets
from constructs import Construct

from slurmpod.environment.monitoring import Budget
from slurmpod.resolve.environment import ENVIRONMENT_TAG

_Budget = aws_budgets.CfnBudget


class MonthlyBudget(Construct):
    """A budget for resources with the environment's tag.

    It counts nothing before the tag is activated as a cost allocation tag, in the payer account.
    Its name is generated: whenever a notification changes, CloudFormation creates a new budget
    before it removes the old one. Source: AWS Billing user guide, "Activating user-defined
    cost allocation tags"; CloudFormation, AWS::Budgets::Budget.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        budget: Budget,
        environment: str,
        topic_arn: str | None,
    ) -> None:
        super().__init__(scope, id_)
        subscribers = [
            _Budget.SubscriberProperty(subscription_type="EMAIL", address=address)
            for address in budget.emails
        ]
        if topic_arn:
            subscribers.append(
                _Budget.SubscriberProperty(subscription_type="SNS", address=topic_arn)
            )
        _Budget(
            self,
            "Resource",
            budget=_Budget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=_Budget.SpendProperty(amount=budget.monthly_usd, unit="USD"),
                cost_filters={"TagKeyValue": [f"user:{ENVIRONMENT_TAG}${environment}"]},
            ),
            notifications_with_subscribers=[
                _Budget.NotificationWithSubscribersProperty(
                    notification=notification, subscribers=subscribers
                )
                for notification in _notifications(budget)
            ],
        )


def _notifications(budget: Budget) -> Iterator[aws_budgets.CfnBudget.NotificationProperty]:
    for percent in budget.actual_percent:
        yield _notification("ACTUAL", percent)
    if budget.forecast_percent is not None:
        yield _notification("FORECASTED", budget.forecast_percent)


def _notification(kind: str, percent: int) -> aws_budgets.CfnBudget.NotificationProperty:
    return _Budget.NotificationProperty(
        notification_type=kind,
        comparison_operator="GREATER_THAN",
        threshold=percent,
        threshold_type="PERCENTAGE",
    )
