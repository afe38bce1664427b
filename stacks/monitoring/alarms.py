"""Alarms for file systems and NAT gateways: capacity, throughput, traffic."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration, aws_cloudwatch
from constructs import Construct

from slurmpod.environment.monitoring import Alarms
from slurmpod.resolve import Resolved, ResolvedLustre
from slurmpod.resolve.storage import MAIN_LUSTRE
from slurmpod_cdk.alarm import NOT_LESS_THAN, Condition, add_alarm
from slurmpod_cdk.storage.stack import FileSystems
from slurmpod_cdk.watch_metrics import (
    lustre_fullest_disk_percent,
    lustre_used_percent,
    nat_gib,
    openzfs_used_percent,
    provisioned_mbps,
    throughput_percent,
)

MINUTES_IN_A_ROW = 5
"""Data points of the capacity, one per minute: a short-lived file raises no alarm."""

HALF_AN_HOUR = 6
"""Data points of the throughput, one per five minutes: a checkpoint may use all of it."""

HOUR = Duration.hours(1)
_Missing = aws_cloudwatch.TreatMissingData


class StorageAlarms(Construct):
    """For each file system: used capacity, a disk nearly full, and throughput if configured.

    FSx reports capacity every minute, also without load. If a data point is missing, FSx is under
    maintenance, and the alarm keeps its state. For throughput, no data point means no traffic.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        file_systems: FileSystems,
        topic_arns: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        assert resolved.monitoring  # noqa: S101  # the stack makes alarms for it alone
        self._limits: Alarms = resolved.monitoring.alarms
        self._topics = topic_arns
        for file_system in resolved.lustre:
            self._watch_lustre(file_system, file_systems.lustre[file_system.name].file_system_id)
        if resolved.openzfs and file_systems.openzfs:
            id_ = file_systems.openzfs.file_system_id
            self._watch_capacity("OpenZfs", "openzfs", openzfs_used_percent(id_), "warning")
            if not resolved.openzfs.settings.existing:
                self._watch_throughput("OpenZfs", "openzfs", id_, resolved.openzfs.throughput_mbps)

    def _watch_lustre(self, file_system: ResolvedLustre, id_: str) -> None:
        name = file_system.name
        construct = "Lustre" if name == MAIN_LUSTRE else f"Lustre-{name}"
        used = lustre_used_percent(id_, file_system)
        fullest = lustre_fullest_disk_percent(id_, file_system)
        if used and fullest:
            self._watch_capacity(construct, name, used, "warning")
            self._watch_capacity(f"{construct}Disk", f"a disk of {name}", fullest, "critical")
        provisioned = provisioned_mbps(file_system)
        if provisioned:
            self._watch_throughput(construct, name, id_, provisioned)

    def _watch_capacity(
        self, construct: str, name: str, metric: aws_cloudwatch.IMetric, severity: str
    ) -> None:
        percent = self._limits.file_system_used_percent
        if severity == "critical":
            percent = nearly_full(percent)
        add_alarm(
            self,
            f"{construct}Full",
            Condition(metric, percent, MINUTES_IN_A_ROW, _Missing.IGNORE, NOT_LESS_THAN),
            text=f"{name} is used to {percent} percent: delete files, or raise its capacity_gib "
            "before writing fails",
            topic_arn=self._topics[severity],
        )

    def _watch_throughput(self, construct: str, name: str, id_: str, provisioned: float) -> None:
        percent = self._limits.file_system_throughput_percent
        if percent is None:
            return
        metric = throughput_percent(id_, provisioned)
        add_alarm(
            self,
            f"{construct}Busy",
            Condition(metric, percent, HALF_AN_HOUR, _Missing.NOT_BREACHING, NOT_LESS_THAN),
            text=f"{name} has been read and written with {percent} percent of its throughput for "
            "half an hour: jobs may wait for it; raise its throughput",
            topic_arn=self._topics["warning"],
        )


class NatAlarms(Construct):
    """For each NAT gateway: the data of an hour. No data point means no traffic."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        gateways: Mapping[str, str],
        gib_per_hour: int,
        topic_arn: str,
    ) -> None:
        super().__init__(scope, id_)
        for zone, gateway in gateways.items():
            add_alarm(
                self,
                zone,
                Condition(nat_gib(gateway, zone, HOUR), gib_per_hour, 1, _Missing.NOT_BREACHING),
                text=f"more than {gib_per_hour} GiB in an hour through the NAT gateway in {zone}, "
                "which is billed by the GiB: flow logs show which node; S3 needs no NAT gateway",
                topic_arn=topic_arn,
            )


def nearly_full(percent: int) -> int:
    """Return the percentage at which a disk is nearly full: halfway between the limit and 100."""
    return (percent + 101) // 2
