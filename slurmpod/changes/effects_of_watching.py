"""What changing fields does, about monitoring and money: see `effects`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.changes.effect import IN_PLACE, NEW_NODES, Effect, Kind
from slurmpod.model.monitoring import (
    Alarms,
    Budget,
    Grafana,
    Monitoring,
    Notify,
    Prometheus,
    Subscribers,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

OTHER_BUDGET = Effect(
    Kind.REPLACES, "a new budget takes the place of the old one, whose history goes with it"
)
OTHER_KEY = Effect(
    Kind.IN_PLACE, "encrypts what comes from now on; what is there still needs the old key"
)
NOBODY_TOLD = Effect(
    Kind.LOSES,
    "topics, rules and alarms of the stack monitoring are deleted, only the budget stays in it, as "
    "a new one without history; delete the stack cluster-watch, whose alarms reach nobody then",
)
"""What is told of the section where a budget keeps its stack."""

TOLD = Effect(Kind.IN_PLACE, "changed in place; new e-mail addresses have to confirm first")

WATCHING: Mapping[type[BaseModel], Mapping[str, Effect]] = MappingProxyType(
    {
        Monitoring: {
            **dict.fromkeys(Monitoring.model_fields, IN_PLACE),
            "kms_key_arn": OTHER_KEY,
            "prometheus": NEW_NODES,
        },
        Notify: dict.fromkeys(Notify.model_fields, TOLD),
        Subscribers: {
            "emails": TOLD,
            "https": IN_PLACE,
        },
        Alarms: dict.fromkeys(Alarms.model_fields, IN_PLACE),
        Prometheus: {
            "scrape_seconds": NEW_NODES,
            "retention_days": IN_PLACE,
            "kms_key_arn": Effect(
                Kind.REPLACES, "a new, empty workspace is made, the old one is kept, and costs"
            ),
        },
        Grafana: dict.fromkeys(Grafana.model_fields, IN_PLACE),
        Budget: {
            "monthly_usd": IN_PLACE,
            "actual_percent": OTHER_BUDGET,
            "forecast_percent": OTHER_BUDGET,
            "emails": OTHER_BUDGET,
        },
    }
)

LESS_WATCHING: Mapping[tuple[type[BaseModel], str], Effect] = MappingProxyType(
    {
        (Monitoring, "log_retention_days"): Effect(Kind.LOSES, "logs that are older are deleted"),
        (Prometheus, "retention_days"): Effect(Kind.LOSES, "metrics that are older are deleted"),
        (Grafana, "version"): Effect(Kind.REFUSED, "Grafana does not go back to an older version"),
    }
)

NO_WATCHING: Mapping[type[BaseModel], Effect] = MappingProxyType(
    {
        Monitoring: Effect(
            Kind.IN_PLACE,
            "people are told as before until you delete the stacks monitoring and cluster-watch",
        ),
        Prometheus: Effect(Kind.LOSES, "no new metrics; the workspace is kept, and costs"),
        Grafana: Effect(Kind.LOSES, "slurmpod forgets it; the workspace is kept, and costs"),
        Budget: Effect(
            Kind.IN_PLACE, "where nothing else is watched, the stack monitoring stays, and tells"
        ),
    }
)
