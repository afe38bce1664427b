"""The metrics of alarms and the dashboard, as defined by their services.

Sources: FSx for Lustre and FSx for OpenZFS user guides, "metrics and dimensions"; Amazon VPC user
guide, "NAT gateway metrics and dimensions"; `functions/count_nodes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk.aws_cloudwatch import MathExpression, Metric

from slurmpod.resolve import ResolvedLustre

NAMESPACE = "slurmpod"
"""The namespace of metrics from our functions and log filters."""

GIB = 2**30
MEGABYTE = 10**6
MINUTE = Duration.minutes(1)
FIVE_MINUTES = Duration.minutes(5)


def cluster_metric(name: str, cluster: str, statistic: str) -> Metric:
    """Return a count of nodes: NodesInService, NodesWanted, NodesMissing or NodesFailed."""
    return Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={"Cluster": cluster},
        statistic=statistic,
        period=FIVE_MINUTES,
    )


def log_metric(name: str, cluster: str) -> Metric:
    """Return a count of lines in the cluster's log: LifecycleFailures or HealthFindings.

    A log filter takes dimensions from fields of a line, which plain text does not have: hence the
    cluster in the metric's name. Source: Amazon CloudWatch Logs user guide, "Publishing dimensions
    with metrics from values in log events".
    """
    return Metric(
        namespace=NAMESPACE,
        metric_name=f"{name}-{cluster}",
        statistic="Sum",
        period=FIVE_MINUTES,
    )


def lustre_used_percent(file_system_id: str, file_system: ResolvedLustre) -> MathExpression | None:
    """Return the used percentage of a Lustre file system; None if its size is unknown.

    FSx reports the free space of each disk every minute; the sum in one minute is the total free
    space. A file system with elastic capacity (Intelligent-Tiering) never fills up.
    """
    capacity = _lustre_bytes(file_system)
    if capacity is None:
        return None
    free = _fsx("FreeDataStorageCapacity", file_system_id, "Sum", MINUTE)
    return _expression(f"100 - 100 * free / {capacity}", {"free": free}, "Used, in all", MINUTE)


def lustre_fullest_disk_percent(
    file_system_id: str, file_system: ResolvedLustre
) -> MathExpression | None:
    """Return the used percentage of the fullest disk of a Lustre file system.

    A file is stored on few disks, and writing to it fails when one of them is full, regardless of
    the others. The number of data points in a minute is the number of disks.
    """
    capacity = _lustre_bytes(file_system)
    if capacity is None:
        return None
    least = _fsx("FreeDataStorageCapacity", file_system_id, "Minimum", MINUTE)
    disks = _fsx("FreeDataStorageCapacity", file_system_id, "SampleCount", MINUTE)
    return _expression(
        f"100 - 100 * least * disks / {capacity}",
        {"least": least, "disks": disks},
        "Used, on the fullest disk",
        MINUTE,
    )


def openzfs_used_percent(file_system_id: str) -> MathExpression:
    """Return the used percentage of an OpenZFS file system."""
    used = _fsx("UsedStorageCapacity", file_system_id, "Average", MINUTE)
    total = _fsx("StorageCapacity", file_system_id, "Average", MINUTE)
    return _expression("100 * used / total", {"used": used, "total": total}, "Used", MINUTE)


def throughput_mbps(file_system_id: str) -> MathExpression:
    """Return the client throughput in MB/s."""
    return _expression(
        f"(read + written) / PERIOD(read) / {MEGABYTE}",
        _read_and_written(file_system_id),
        "Read and written",
        FIVE_MINUTES,
    )


def throughput_percent(file_system_id: str, provisioned_mbps: float) -> MathExpression:
    """Return the client throughput as a percentage of the provisioned throughput."""
    return _expression(
        f"100 * (read + written) / PERIOD(read) / {round(provisioned_mbps * MEGABYTE)}",
        _read_and_written(file_system_id),
        "Used throughput",
        FIVE_MINUTES,
    )


def provisioned_mbps(file_system: ResolvedLustre) -> float | None:
    """Return the provisioned throughput of a Lustre file system in MB/s; None if unknown.

    The throughput per TiB is for 1,024 GiB; it is unknown for scratch and existing file systems.
    """
    if file_system.settings.existing:
        return None
    if file_system.throughput_mbps:
        return file_system.throughput_mbps
    if file_system.capacity_gib is None or file_system.throughput_mbps_per_tib is None:
        return None
    return file_system.capacity_gib * file_system.throughput_mbps_per_tib / 1024


def nat_gib(nat_gateway_id: str, zone: str, period: Duration) -> MathExpression:
    """Return the traffic of a NAT gateway in both directions, which are both billed, in GiB."""
    suffix = zone.replace("-", "_")
    out, back = f"out_{suffix}", f"back_{suffix}"
    names = {out: "BytesOutToDestination", back: "BytesInFromDestination"}
    metrics = {
        id_: Metric(
            namespace="AWS/NATGateway",
            metric_name=name,
            dimensions_map={"NatGatewayId": nat_gateway_id},
            statistic="Sum",
            period=period,
        )
        for id_, name in names.items()
    }
    return _expression(f"({out} + {back}) / {GIB}", metrics, f"Out and back in {zone}", period)


def _lustre_bytes(file_system: ResolvedLustre) -> int | None:
    if file_system.settings.existing or file_system.capacity_gib is None:
        return None
    return file_system.capacity_gib * GIB


def _read_and_written(file_system_id: str) -> Mapping[str, Metric]:
    return {
        "read": _fsx("DataReadBytes", file_system_id, "Sum", FIVE_MINUTES),
        "written": _fsx("DataWriteBytes", file_system_id, "Sum", FIVE_MINUTES),
    }


def _fsx(name: str, file_system_id: str, statistic: str, period: Duration) -> Metric:
    return Metric(
        namespace="AWS/FSx",
        metric_name=name,
        dimensions_map={"FileSystemId": file_system_id},
        statistic=statistic,
        period=period,
    )


def _expression(
    expression: str, metrics: Mapping[str, Metric], label: str, period: Duration
) -> MathExpression:
    return MathExpression(
        expression=expression, using_metrics=dict(metrics), label=label, period=period
    )
