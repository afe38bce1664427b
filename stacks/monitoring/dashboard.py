"""The dashboard of an environment in CloudWatch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aws_cdk import Duration, aws_cloudwatch
from constructs import Construct

from slurmpod.resolve import Resolved
from slurmpod_cdk.log_groups import CLUSTER_LOGS
from slurmpod_cdk.storage.stack import FileSystems
from slurmpod_cdk.watch_metrics import (
    cluster_metric,
    log_metric,
    lustre_fullest_disk_percent,
    lustre_used_percent,
    nat_gib,
    openzfs_used_percent,
    throughput_mbps,
)

HALF = 12
"""Half of the 24 columns of a dashboard."""

SLASH = "$252F"
"""A slash in a log group's name in console URLs: encoded twice, with $ for %."""

_PERCENT = aws_cloudwatch.YAxisProps(min=0, max=100, label="%", show_units=False)
_FROM_NOTHING = aws_cloudwatch.YAxisProps(min=0, show_units=False)


class Dashboard(Construct):
    """Nodes, failures, file systems and NAT gateways on one page, with links to the logs.

    It is in the stack before the cluster, so that it exists even if the cluster cannot be created.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        file_systems: FileSystems,
        gateways: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        rows: list[list[aws_cloudwatch.IWidget]] = [
            [_links(resolved)],
            list(_nodes(resolved.name)),
            list(_file_systems(resolved, file_systems)),
        ]
        if gateways:
            rows.append([_gateways(gateways)])
        aws_cloudwatch.Dashboard(
            self,
            "Resource",
            dashboard_name=f"{resolved.name}-{resolved.region}",
            default_interval=Duration.hours(12),
            widgets=[row for row in rows if row],
        )


def _links(resolved: Resolved) -> aws_cloudwatch.TextWidget:
    home = f"https://{resolved.region}.console.aws.amazon.com"
    region = f"region={resolved.region}"
    logs = f"{CLUSTER_LOGS}/{resolved.name}/".replace("/", SLASH)
    links = {
        "logs of the nodes": f"{home}/cloudwatch/home?{region}"
        f"#logsV2:log-groups$3FlogGroupNameFilter$3D{logs}",
        "cluster": f"{home}/sagemaker/home?{region}#/cluster-management/{resolved.name}",
        "file systems": f"{home}/fsx/home?{region}#file-systems",
        "alarms": f"{home}/cloudwatch/home?{region}#alarmsV2:?search={resolved.name}-",
    }
    listed = " | ".join(f"[{name}]({url})" for name, url in links.items())
    return aws_cloudwatch.TextWidget(
        markdown=f"# HyperPod cluster {resolved.name}\n{listed}", width=2 * HALF, height=2
    )


def _nodes(cluster: str) -> Iterator[aws_cloudwatch.IWidget]:
    yield _graph(
        "Nodes",
        [
            cluster_metric("NodesWanted", cluster, "Maximum"),
            cluster_metric("NodesInService", cluster, "Minimum"),
            cluster_metric("NodesFailed", cluster, "Maximum"),
        ],
        _FROM_NOTHING,
    )
    yield _graph(
        "Failures of lifecycle scripts, findings of the health agent",
        [
            log_metric("LifecycleFailures", cluster),
            log_metric("HealthFindings", cluster),
        ],
        _FROM_NOTHING,
    )


def _file_systems(
    resolved: Resolved, file_systems: FileSystems
) -> Iterator[aws_cloudwatch.IWidget]:
    for file_system in resolved.lustre:
        name, id_ = file_system.name, file_systems.lustre[file_system.name].file_system_id
        used = lustre_used_percent(id_, file_system)
        fullest = lustre_fullest_disk_percent(id_, file_system)
        if used and fullest:
            yield _graph(f"{name}: used, %", [used, fullest], _PERCENT)
        yield _graph(f"{name}: MB/s", [throughput_mbps(id_)], _FROM_NOTHING)
    if file_systems.openzfs:
        id_ = file_systems.openzfs.file_system_id
        yield _graph("openzfs: used, %", [openzfs_used_percent(id_)], _PERCENT)
        yield _graph("openzfs: MB/s", [throughput_mbps(id_)], _FROM_NOTHING)


def _gateways(gateways: Mapping[str, str]) -> aws_cloudwatch.IWidget:
    metrics = [nat_gib(gateway, zone, Duration.hours(1)) for zone, gateway in gateways.items()]
    return _graph("NAT gateways: GiB in an hour", metrics, _FROM_NOTHING)


def _graph(
    title: str, metrics: Sequence[aws_cloudwatch.IMetric], axis: aws_cloudwatch.YAxisProps
) -> aws_cloudwatch.GraphWidget:
    return aws_cloudwatch.GraphWidget(
        title=title, left=list(metrics), left_y_axis=axis, width=HALF, height=6
    )
