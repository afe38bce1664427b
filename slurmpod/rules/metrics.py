"""Rules for metrics: can nodes collect and send them?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.lifecycle import is_ours
from slurmpod.rules.named_arns import of_another_region
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

METRICS = Area("MET", "Metrics")

PROMETHEUS = ("monitoring", "prometheus")
PACKAGES = "prometheus and prometheus-node-exporter"


@METRICS.rule(
    "MET-001",
    "Nodes of a closed network have the programs for metrics",
    why=f"Nodes need Ubuntu's packages {PACKAGES}. HyperPod's image has neither, and where nothing "
    "leads to the internet they cannot be installed: the nodes come up and send nothing.",
    fix=f"install {PACKAGES} in images of your own and name these as image_id; or suppress "
    "this where nodes reach a mirror of Ubuntu's packages that your images know",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/hyperpod-custom-ami-cluster-management.html",
    severity=Severity.WARNING,
)
def _closed_nodes_have_programs(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    if not _asks_for_metrics(environment) or not resolved.network.closed or not is_ours(resolved):
        return
    lacking = [group.name for group in environment.cluster.groups if group.image_id is None]
    if lacking:
        message = f"the network is closed, and HyperPod's image has no Prometheus: {_and(lacking)}"
        yield Finding(PROMETHEUS, message, at_key=True)


@METRICS.rule(
    "MET-002",
    "Somebody starts what sends metrics",
    why="slurmpod's lifecycle scripts set up exporters and agents. In managed mode no scripts run, "
    "and scripts of your own are yours: the workspace would stay empty, and its alerts silent.",
    fix="write 'mode: extended' under lifecycle; with scripts of your own, send metrics to the "
    "stack's output PrometheusEndpoint and suppress this",
    source="https://docs.aws.amazon.com/prometheus/latest/userguide/"
    "AMP-onboard-ingest-metrics.html",
    severity=Severity.WARNING,
)
def _somebody_sends(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    if _asks_for_metrics(environment) and not is_ours(resolved):
        managed = environment.lifecycle.mode == "managed"
        who = "in managed mode no scripts run" if managed else "the scripts are your own"
        yield Finding(PROMETHEUS, f"{who}, and nobody sends metrics", at_key=True)


@METRICS.rule(
    "MET-003",
    "The key of the workspace lies in the Region",
    why="A workspace is encrypted with a key of its own Region, for ever: the stack is refused.",
    fix="name a key of the Region, or leave kms_key_arn out",
    source="https://docs.aws.amazon.com/prometheus/latest/userguide/encryption-at-rest-Amazon-"
    "Service-Prometheus.html",
)
def _key_in_the_region(environment: Environment, _: Resolved) -> Iterator[Finding]:
    monitoring = environment.monitoring
    key = monitoring.prometheus.kms_key_arn if monitoring and monitoring.prometheus else None
    yield from of_another_region(environment, key, (*PROMETHEUS, "kms_key_arn"))


def _asks_for_metrics(environment: Environment) -> bool:
    return bool(environment.monitoring and environment.monitoring.prometheus)


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
