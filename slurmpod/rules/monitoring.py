"""Rules for alarms, their subscribers, and metrics."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.facts import fact
from slurmpod.environment.monitoring import Subscribers
from slurmpod.problems import Severity
from slurmpod.reading.hooks import hook_path
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.rules.lifecycle import is_ours
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding
from slurmpod.rules.shared_findings import values_listed_twice

MONITORING = Area("MON", "Monitoring", reads=("monitoring",))

SUBSCRIBE = "https://docs.aws.amazon.com/sns/latest/dg/sns-create-subscribe-endpoint-to-topic.html"
NAT = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-nat-gateway-cloudwatch.html"
LUSTRE_METRICS = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/fs-metrics.html"
GRAFANA = (
    "https://docs.aws.amazon.com/grafana/latest/userguide/"
    "what-is-Amazon-Managed-Service-Grafana.html"
)

URGENT_SEVERITIES = ("critical", "warning")
"""The severities that alarms have."""

WITHOUT_GRAFANA = fact("regions.without_grafana")
"""Regions with HyperPod but without Amazon Managed Grafana."""


@MONITORING.rule(
    "MON-001",
    "Critical messages and warnings have a recipient",
    why="An alarm without a subscriber notifies no one.",
    fix="name e-mail addresses or web addresses, or accept it with who subscribes to the topic",
    source=SUBSCRIBE,
    severity=Severity.WARNING,
)
def _somebody_is_told(resolved: Resolved) -> Iterator[Finding]:
    if resolved.monitoring is None:
        return
    for severity in URGENT_SEVERITIES:
        subscribers = getattr(resolved.monitoring.notify, severity)
        if not (subscribers.emails or subscribers.https):
            place = ("monitoring", "notify", severity)
            yield Finding(place, f"alarms go to the topic '{severity}', which has no subscribers")


@MONITORING.rule(
    "MON-002",
    "Every subscriber of a severity is listed once",
    why="SNS has one subscription for each address of a topic; the second one changes nothing.",
    fix="remove one of the two",
    source=SUBSCRIBE,
)
def _subscribers_are_listed_once(resolved: Resolved) -> Iterator[Finding]:
    if resolved.monitoring is None:
        return
    for severity, subscribers in resolved.monitoring.notify:
        if not isinstance(subscribers, Subscribers):
            continue
        emails = [address.lower() for address in subscribers.emails]
        place = ("monitoring", "notify", severity)
        yield from values_listed_twice(emails, *place, "emails")
        yield from values_listed_twice(subscribers.https, *place, "https")


@MONITORING.rule(
    "MON-004",
    "The alarm for NAT gateways has gateways to watch",
    why="slurmpod watches the NAT gateways that it makes. A closed network has none, and those of "
    "an existing network are not known to it.",
    fix="remove the key, or make an alarm where the gateways are made",
    source=NAT,
    severity=Severity.WARNING,
    reads=("monitoring", "network"),
)
def _there_are_gateways(resolved: Resolved) -> Iterator[Finding]:
    monitoring = resolved.monitoring
    if monitoring and monitoring.alarms.nat_gib_per_hour and not resolved.network.nat_gateways:
        place = ("monitoring", "alarms", "nat_gib_per_hour")
        yield Finding(place, "there is no NAT gateway to watch", at_key=True)


@MONITORING.rule(
    "MON-005",
    "Alarms for file systems have something to watch",
    why="Used capacity is a part of the whole, and used throughput of what is provisioned. Both "
    "are known of file systems that slurmpod makes, and OpenZFS reports its capacity itself; "
    "an Intelligent-Tiering file system grows by itself, a scratch one has no throughput that "
    "is provisioned.",
    fix="remove the key",
    source=LUSTRE_METRICS,
    severity=Severity.WARNING,
    reads=("monitoring", "storage"),
)
def _there_are_file_systems(resolved: Resolved) -> Iterator[Finding]:
    if resolved.monitoring is None:
        return
    alarms = resolved.monitoring.alarms
    watched = {
        "file_system_used_percent": _has_capacity(resolved),
        "file_system_throughput_percent": _has_throughput(resolved),
    }
    for key, has_something in watched.items():
        if key in alarms.model_fields_set and getattr(alarms, key) and not has_something:
            place = ("monitoring", "alarms", key)
            yield Finding(place, "there is no file system of which this is known", at_key=True)


@MONITORING.rule(
    "MON-006",
    "Nodes may be missing for as long as they take to be set up",
    why="A replaced node is missing until its scripts have ended, and each of their steps may take "
    "lifecycle.step_timeout_seconds. An alarm that is faster than that is a false alarm.",
    fix="raise missing_nodes_minutes, or lower lifecycle.step_timeout_seconds",
    source="slurmpod/environment/lifecycle.py",
    severity=Severity.WARNING,
    reads=("lifecycle", "monitoring", "name"),
)
def _nodes_have_the_time(resolved: Resolved) -> Iterator[Finding]:
    if resolved.monitoring is None or not resolved.stacks.lifecycle:
        return
    minutes = resolved.monitoring.alarms.missing_nodes_minutes
    seconds = resolved.lifecycle.step_timeout_seconds
    if minutes * 60 < seconds:
        place = ("monitoring", "alarms", "missing_nodes_minutes")
        yield Finding(place, f"one step of the scripts alone may take {seconds // 60} minutes")


@MONITORING.rule(
    "MON-007",
    "Grafana has metrics to show",
    why="Its dashboards show what the workspace for metrics holds; without one they are empty.",
    fix="add 'prometheus: {}' beside it, or remove 'grafana'",
    source="slurmpod/environment/monitoring.py",
)
def _grafana_has_metrics(resolved: Resolved) -> Iterator[Finding]:
    monitoring = resolved.monitoring
    if monitoring and monitoring.grafana and not monitoring.prometheus:
        yield Finding(("monitoring", "grafana"), "there is no 'prometheus' beside it", at_key=True)


@MONITORING.rule(
    "MON-008",
    "Amazon Managed Grafana is in the Region",
    why="Some Regions have HyperPod and no Amazon Managed Grafana: the stack would be refused. The "
    f"list is from {WITHOUT_GRAFANA.when}.",
    fix="remove 'grafana', and let a Grafana elsewhere read the workspace for metrics; accept it "
    "where AWS has added the Region since",
    source=GRAFANA,
    severity=Severity.WARNING,
    reads=("monitoring", "region"),
)
def _grafana_is_in_the_region(resolved: Resolved) -> Iterator[Finding]:
    monitoring, region = resolved.monitoring, resolved.region
    if monitoring and monitoring.grafana and region in WITHOUT_GRAFANA.values:
        when = WITHOUT_GRAFANA.when
        message = f"there was no Amazon Managed Grafana in {region} (as of {when})"
        yield Finding(("monitoring", "grafana"), message, at_key=True)


def _has_capacity(resolved: Resolved) -> bool:
    lustre = any(each.capacity_gib and not each.settings.existing for each in resolved.lustre)
    return lustre or resolved.openzfs is not None


def _has_throughput(resolved: Resolved) -> bool:
    made = (each for each in resolved.lustre if not each.settings.existing)
    lustre = any(each.throughput_mbps or each.throughput_mbps_per_tib for each in made)
    return lustre or bool(resolved.openzfs and not resolved.openzfs.settings.existing)


METRICS = Area("MET", "Metrics", reads=("monitoring",))

PROMETHEUS = ("monitoring", "prometheus")
OBSERVABILITY = ("monitoring", "observability")
EXTENSIONS = (
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateClusterExtension.html"
)
EXTENSION_SETTINGS = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-cluster-observability-slurm-extension-config.html"
)
PACKAGES = "prometheus and prometheus-node-exporter"


@METRICS.rule(
    "MET-001",
    "Nodes of a closed network have the programs for metrics",
    why=f"Nodes need Ubuntu's packages {PACKAGES}. HyperPod's image has neither, and where nothing "
    "leads to the internet they cannot be installed: the nodes come up and send nothing.",
    fix=f"install {PACKAGES} in images of your own and name these as image_id, or from your bucket "
    "in a hook that runs before the steps; or write 'observability' in its place, with continuous "
    "provisioning, which needs no packages; or suppress this where nodes reach a mirror of "
    "Ubuntu's packages that the image knows",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/hyperpod-custom-ami-cluster-management.html",
    severity=Severity.WARNING,
    reads=("cluster", "lifecycle", "monitoring", "name", "network"),
)
def _closed_nodes_have_programs(resolved: Resolved) -> Iterator[Finding]:
    if not _asks_for_metrics(resolved) or not resolved.network.closed or not is_ours(resolved):
        return
    lacking = [
        group.name
        for group in resolved.groups
        if group.settings.image_id is None and not _may_be_installed_before(group, resolved)
    ]
    if lacking:
        message = f"the network is closed, and HyperPod's image has no Prometheus: {_and(lacking)}"
        yield Finding(PROMETHEUS, message, at_key=True)


@METRICS.rule(
    "MET-002",
    "A metrics agent runs on the nodes",
    why="slurmpod's lifecycle scripts set up exporters and agents. In managed mode no scripts run, "
    "and scripts of your own are yours: the workspace would stay empty, and its alerts silent.",
    fix="write 'mode: extended' under lifecycle; with scripts of your own, send metrics to the "
    "stack's output PrometheusEndpoint and suppress this",
    source="https://docs.aws.amazon.com/prometheus/latest/userguide/"
    "AMP-onboard-ingest-metrics.html",
    severity=Severity.WARNING,
    reads=("monitoring", "name", *LIFECYCLE_MODE),
)
def _somebody_sends(resolved: Resolved) -> Iterator[Finding]:
    if _asks_for_metrics(resolved) and not is_ours(resolved):
        managed = resolved.lifecycle.mode == "managed"
        who = "in managed mode no scripts run" if managed else "the scripts are your own"
        yield Finding(PROMETHEUS, f"{who}, so no metrics are sent", at_key=True)


@METRICS.rule(
    "MET-003",
    "HyperPod's collector is for continuous provisioning",
    why="HyperPod installs extensions only on clusters whose NodeProvisioningMode is Continuous, "
    "and refuses others.",
    fix="write 'provisioning: continuous' under cluster, or remove 'observability'",
    source=EXTENSIONS,
    reads=("cluster", "monitoring", *LIFECYCLE_MODE),
)
def _extension_is_accepted(resolved: Resolved) -> Iterator[Finding]:
    if resolved.monitoring and resolved.monitoring.observability and not resolved.continuous:
        message = "the cluster is not provisioned continuously: HyperPod refuses the extension"
        yield Finding(OBSERVABILITY, message, at_key=True)


@METRICS.rule(
    "MET-004",
    "One collector of metrics runs on a node",
    why="With 'prometheus' slurmpod's exporters and agent run on every node, with 'observability' "
    "HyperPod's. Both read the same processors, GPUs and network cards, and both are paid by the "
    "sample: under different names, in different places. Only one should ask DCGM for counters of "
    "GPUs.",
    fix="remove one of the two: 'observability' needs no packages and feeds no dashboard or alert "
    "of slurmpod, 'prometheus' feeds all of them; suppress it if you compare the two",
    source=EXTENSION_SETTINGS,
    severity=Severity.WARNING,
)
def _one_collector(resolved: Resolved) -> Iterator[Finding]:
    if _asks_for_metrics(resolved) and resolved.monitoring and resolved.monitoring.observability:
        message = "slurmpod's collector runs beside it: 'prometheus' is there, too"
        yield Finding(OBSERVABILITY, message, at_key=True)


def _may_be_installed_before(group: ResolvedGroup, resolved: Resolved) -> bool:
    """Return whether a script of the user's runs before the step that needs the packages."""
    return hook_path(group.role, "before") in resolved.lifecycle.hooks


def _asks_for_metrics(resolved: Resolved) -> bool:
    return bool(resolved.monitoring and resolved.monitoring.prometheus)


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
