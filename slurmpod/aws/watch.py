"""An environment's alarms, throughput and spend, from CloudWatch and Budgets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable

PERIOD_SECONDS = 300
READ, WRITE = "DataReadBytes", "DataWriteBytes"
ALARMS_AT_ONCE = 100
"""The most names in one DescribeAlarms request (API reference)."""


@dataclass(frozen=True)
class Alarm:
    """An alarm: OK, ALARM or INSUFFICIENT_DATA, since when, and what to do about it."""

    name: str
    state: str
    since: datetime
    text: str


@dataclass(frozen=True)
class Throughput:
    """Throughput of a file system over the last minutes, in bytes per second."""

    read: float
    written: float


@dataclass(frozen=True)
class Spent:
    """The actual and forecast cost of this month, from the account's billing."""

    usd: float
    limit_usd: float


@dataclass(frozen=True)
class Watch:
    """Queries to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def alarms(self, names: Sequence[str]) -> tuple[Alarm, ...]:
        """Return the alarms with these names."""
        found: list[Any] = []
        with as_unavailable("describe the alarms"):
            for first in range(0, len(names), ALARMS_AT_ONCE):
                answer = self.clients.cloudwatch.describe_alarms(
                    AlarmNames=list(names[first : first + ALARMS_AT_ONCE])
                )
                found += answer["MetricAlarms"]
        return tuple(
            Alarm(
                each["AlarmName"],
                each["StateValue"],
                each["StateUpdatedTimestamp"],
                each.get("AlarmDescription", ""),
            )
            for each in found
        )

    def throughput(self, ids: Collection[str], now: datetime) -> Mapping[str, Throughput]:
        """Return the throughput of FSx file systems by id, without those that have no data.

        It covers the five minutes that ended last: later figures are not complete.
        """
        if not ids:
            return {}
        end = datetime.fromtimestamp(now.timestamp() // PERIOD_SECONDS * PERIOD_SECONDS, UTC)
        wanted = [(id_, metric) for id_ in ids for metric in (READ, WRITE)]
        with as_unavailable("read the metrics of the file systems"):
            answer = self.clients.cloudwatch.get_metric_data(
                MetricDataQueries=[_query(number, *each) for number, each in enumerate(wanted)],
                StartTime=end - timedelta(seconds=3 * PERIOD_SECONDS),
                EndTime=end,
                ScanBy="TimestampDescending",
            )
        values = {each["Id"]: each["Values"] for each in answer["MetricDataResults"]}
        rates = {
            each: values[f"m{number}"][0] / PERIOD_SECONDS
            for number, each in enumerate(wanted)
            if values.get(f"m{number}")
        }
        return {
            id_: Throughput(rates[id_, READ], rates[id_, WRITE])
            for id_ in ids
            if (id_, READ) in rates and (id_, WRITE) in rates
        }

    def spent(self, account: str, budget: str) -> Spent:
        """Return the spend of this month from a budget; the query is free."""
        with as_unavailable("read the budget"):
            found = self.clients.budgets.describe_budget(AccountId=account, BudgetName=budget)
        limit = found["Budget"]["BudgetLimit"]["Amount"]
        actual = found["Budget"]["CalculatedSpend"]["ActualSpend"]["Amount"]
        return Spent(float(actual), float(limit))


def _query(number: int, file_system_id: str, metric: str) -> dict[str, Any]:
    dimensions = [{"Name": "FileSystemId", "Value": file_system_id}]
    return {
        "Id": f"m{number}",
        "MetricStat": {
            "Metric": {"Namespace": "AWS/FSx", "MetricName": metric, "Dimensions": dimensions},
            "Period": PERIOD_SECONDS,
            "Stat": "Sum",
        },
    }
