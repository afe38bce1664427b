"""Resolved and prices -> hourly cost of an environment, by resource. Pure.

Unknown prices stay unknown: none is estimated from ratios or from other Regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from slurmpod.environment.file_systems import StorageType
from slurmpod.plan.prices import Item, Price, Prices
from slurmpod.problems import counted
from slurmpod.resolve import Resolved, ResolvedGroup, ResolvedLustre

HOURS_OF_A_DAY = 24
HOURS_OF_A_MONTH = 730
"""AWS's own month in its calculator: 8,760 hours of a year in twelve parts."""


class Part(StrEnum):
    """A kind of thing that costs money."""

    NODES = "nodes"
    FILE_SYSTEMS = "file systems"
    NAT = "NAT gateways"
    ENDPOINTS = "interface endpoints"
    DATABASE = "database"
    SERVICES = "services"
    MONITORING = "monitoring"
    LOGS = "logs and objects"


class Certainty(StrEnum):
    """Certainty of a cost."""

    EXACT = "exact"
    AT_LEAST = "at least"
    UNKNOWN = "unknown"
    BY_USE = "by use"
    PREPAID = "prepaid"


@dataclass(frozen=True)
class Cost:
    """One line of the bill; `usd_per_hour` is None unless the certainty is exact or at least.

    `stays` marks costs that continue after `cdk destroy --all`; `note` qualifies the figure, or
    says why it is missing.
    """

    part: Part
    name: str
    what: str
    certainty: Certainty
    usd_per_hour: Decimal | None = None
    stays: bool = False
    note: str = ""
    price: Price | None = None


@dataclass(frozen=True)
class Sum:
    """The sum of known costs; `is_least` marks a lower bound."""

    usd_per_hour: Decimal
    is_least: bool

    @property
    def usd_per_day(self) -> Decimal:
        """The same for a day."""
        return self.usd_per_hour * HOURS_OF_A_DAY

    @property
    def usd_per_month(self) -> Decimal:
        """The same for a month of 730 hours."""
        return self.usd_per_hour * HOURS_OF_A_MONTH


def costs(resolved: Resolved, prices: Prices) -> tuple[Cost, ...]:
    """Return every cost of resources that an environment creates; existing ones are not counted."""
    return (
        *(_nodes(group, prices) for group in resolved.groups if group.count),
        *_volumes(resolved),
        *_file_systems(resolved, prices),
        *_network(resolved, prices),
        *_database(resolved),
        *_endpoint(resolved, prices),
        *_notebook(resolved, prices),
        *_by_use(resolved),
    )


def total(found: Iterable[Cost]) -> Sum:
    """Add up known costs; purely usage-based ones do not make the sum a lower bound."""
    lines = tuple(found)
    known = sum((each.usd_per_hour or Decimal(0) for each in lines), Decimal(0))
    return Sum(
        known, any(each.certainty in (Certainty.AT_LEAST, Certainty.UNKNOWN) for each in lines)
    )


def _nodes(group: ResolvedGroup, prices: Prices) -> Cost:
    others = " or another of its types" if len(group.instance_types) > 1 else ""
    what = f"{group.count} x {group.instance_type}{others}"
    if group.settings.training_plan_arn:
        note = (
            "paid with the training plan; 30 minutes before its end AWS begins to remove the "
            "nodes and their jobs (slurmpod capacity show)"
        )
        return Cost(Part.NODES, group.name, what, Certainty.PREPAID, note=note)
    if group.settings.capacity == "spot":
        note = "spot prices change with the market"
        return Cost(Part.NODES, group.name, what, Certainty.UNKNOWN, note=note)
    exact = prices.get((Item.NODE, group.instance_type))
    price = exact or prices.get((Item.EC2_NODE, group.instance_type))
    if price is None:
        return Cost(Part.NODES, group.name, what, Certainty.UNKNOWN)
    usd = price.usd * group.count
    if others:
        note = "the price of the most wanted type"
        return Cost(Part.NODES, group.name, what, Certainty.AT_LEAST, usd, note=note, price=price)
    if exact:
        return Cost(Part.NODES, group.name, what, Certainty.EXACT, usd, price=price)
    note = "EC2's price: HyperPod's, which is higher, is not known here"
    return Cost(Part.NODES, group.name, what, Certainty.AT_LEAST, usd, note=note, price=price)


def _volumes(resolved: Resolved) -> Iterator[Cost]:
    sizes = [group.count * (group.settings.volume_gib or 0) for group in resolved.groups]
    if gib := sum(sizes):
        yield Cost(Part.NODES, "additional volumes", f"{gib} GiB", Certainty.UNKNOWN)


def _file_systems(resolved: Resolved, prices: Prices) -> Iterator[Cost]:
    for lustre in resolved.lustre:
        if not lustre.settings.existing:
            yield _lustre(lustre, prices)
    openzfs = resolved.openzfs
    if openzfs and not openzfs.settings.existing:
        yield Cost(
            Part.FILE_SYSTEMS,
            openzfs.settings.mount_path,
            f"OpenZFS, {openzfs.settings.capacity_gib} GiB, {openzfs.throughput_mbps} MB/s",
            Certainty.UNKNOWN,
            stays=openzfs.settings.on_delete == "retain",
        )


def _lustre(lustre: ResolvedLustre, prices: Prices) -> Cost:
    settings = lustre.settings
    size = f", {lustre.capacity_gib} GiB" if lustre.capacity_gib else ""
    speed = f", {lustre.throughput_mbps_per_tib} MB/s/TiB" if lustre.throughput_mbps_per_tib else ""
    what = f"Lustre {settings.deployment_type} {settings.storage_type}{size}{speed}"
    stays = settings.on_delete == "retain"
    price = prices.get((Item.LUSTRE_GB_MONTH, str(lustre.throughput_mbps_per_tib or "")))
    if settings.storage_type is not StorageType.SSD or not price or not lustre.capacity_gib:
        return Cost(Part.FILE_SYSTEMS, settings.mount_path, what, Certainty.UNKNOWN, stays=stays)
    certainty, note = Certainty.EXACT, ""
    if lustre.metadata_iops:
        certainty, note = Certainty.AT_LEAST, "plus provisioned metadata IOPS"
    usd = price.usd * lustre.capacity_gib / HOURS_OF_A_MONTH
    return Cost(Part.FILE_SYSTEMS, settings.mount_path, what, certainty, usd, stays, note, price)


def _network(resolved: Resolved, prices: Prices) -> Iterator[Cost]:
    network = resolved.network
    if network.nat_gateways:
        yield _priced(
            Part.NAT,
            "NAT",
            f"{network.nat_gateways}, without data processing",
            network.nat_gateways,
            prices.get((Item.NAT_GATEWAY, "")),
        )
    if network.interface_endpoints:
        services, zones = len(network.interface_endpoints), len(network.private)
        yield _priced(
            Part.ENDPOINTS,
            "endpoints",
            f"{counted(services, 'service')} in {counted(zones, 'zone')}",
            services * zones,
            prices.get((Item.INTERFACE_ENDPOINT, "")),
        )


def _priced(part: Part, name: str, what: str, count: int, price: Price | None) -> Cost:
    if price is None:
        return Cost(part, name, what, Certainty.UNKNOWN)
    return Cost(part, name, what, Certainty.EXACT, price.usd * count, price=price)


def _database(resolved: Resolved) -> Iterator[Cost]:
    if resolved.database and (new := resolved.database.new):
        rds = new.settings
        size = f"{rds.instance_class}{' in two zones' if rds.multi_az else ''}"
        note = "only its final snapshot stays" if rds.on_delete == "snapshot" else ""
        yield Cost(
            Part.DATABASE,
            new.identifier,
            f"{size}, {rds.storage_gib} GiB",
            Certainty.UNKNOWN,
            stays=rds.on_delete != "delete",
            note=note,
        )


def _endpoint(resolved: Resolved, prices: Prices) -> Iterator[Cost]:
    """Yield the instances that serve a model: always on, at least the minimum number."""
    endpoint = resolved.endpoint
    if endpoint is None:
        return
    settings = endpoint.settings
    count, most = settings.instances, endpoint.most_instances
    numbers = f"{count} to {most}" if settings.scaling else str(count)
    end = f"wanted until {settings.delete_after}" if settings.delete_after else "no last day"
    note = f"always on, also without requests; {end}"
    price = prices.get((Item.ENDPOINT_INSTANCE, settings.instance_type))
    what = f"{numbers} x {settings.instance_type}"
    if price is None:
        yield Cost(Part.SERVICES, "endpoint", what, Certainty.UNKNOWN, note=note)
        return
    certainty = Certainty.AT_LEAST if settings.scaling else Certainty.EXACT
    usd = price.usd * count
    yield Cost(Part.SERVICES, "endpoint", what, certainty, usd, note=note, price=price)


def _notebook(resolved: Resolved, prices: Prices) -> Iterator[Cost]:
    """Yield the notebook instance as if it always ran, and its volume, which is always billed."""
    notebook = resolved.notebook
    if notebook is None:
        return
    settings = notebook.settings
    price = prices.get((Item.NOTEBOOK_INSTANCE, settings.instance_type))
    note = f"only while it runs: it stops after {settings.idle_minutes} idle minutes"
    what = settings.instance_type
    if price is None:
        yield Cost(Part.SERVICES, "notebook", what, Certainty.UNKNOWN, note=note)
    else:
        certainty = Certainty.EXACT
        yield Cost(Part.SERVICES, "notebook", what, certainty, price.usd, note=note, price=price)
    stays = settings.on_delete == "retain"
    size = f"{settings.volume_gib} GiB"
    yield Cost(Part.SERVICES, "notebook volume", size, Certainty.UNKNOWN, stays=stays)


def _by_use(resolved: Resolved) -> Iterator[Cost]:
    monitoring = resolved.monitoring
    if monitoring:
        kinds = "alarms, topics and dashboards"
        yield Cost(Part.MONITORING, "CloudWatch", kinds, Certainty.UNKNOWN)
    if monitoring and monitoring.prometheus:
        yield Cost(Part.MONITORING, "Prometheus", "samples", Certainty.BY_USE, stays=True)
    if monitoring and monitoring.observability:
        kinds = "metrics of HyperPod's collector"
        place = "Prometheus" if monitoring.observability.remote_write_url else "CloudWatch"
        yield Cost(Part.MONITORING, place, kinds, Certainty.BY_USE, stays=True)
    yield Cost(Part.LOGS, "CloudWatch Logs", "of nodes and records", Certainty.BY_USE, stays=True)
    if resolved.lifecycle.entry_script:
        stays = resolved.lifecycle.bucket_on_delete == "retain"
        yield Cost(Part.LOGS, "S3", "lifecycle scripts", Certainty.BY_USE, stays=stays)
