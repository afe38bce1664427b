"""Rules applied to settings outside a file, such as those of constructs in other CDK apps.

A valid environment surrounds them. Rules that depend on other settings are not applied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from slurmpod.environment.cluster import Cluster, Group
from slurmpod.environment.lifecycle import Lifecycle
from slurmpod.environment.lustre import Lustre
from slurmpod.environment.slurm import Slurm
from slurmpod.environment.storage import OpenZfs, Storage
from slurmpod.problems import Severity, YamlPath
from slurmpod.reading.read import Reading, read_as
from slurmpod.request import ClusterProperties, InstanceGroup
from slurmpod.resolve import resolve
from slurmpod.rules.capacity import CAPACITY
from slurmpod.rules.cluster import CLUSTER
from slurmpod.rules.file_systems import OPENZFS
from slurmpod.rules.instance_types import TYPES
from slurmpod.rules.lustre import LUSTRE, TIERING
from slurmpod.rules.lustre_access import ACCESS
from slurmpod.rules.openzfs import ZFS
from slurmpod.rules.partitions import SLURM
from slurmpod.rules.registry import Area
from slurmpod.rules.rollouts import PROVISIONING, ROLLOUTS
from slurmpod.rules.storage import MOUNTS, STORAGE
from slurmpod.rules.volumes import HEALTH_CHECKS, UPDATES, VOLUMES

STAND_IN = """\
name: stand-in
account: "123456789012"
region: us-west-2
network: {zone: us-west-2b}
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: workers, role: worker, instance_type: ml.m5.xlarge, partition: cpu}
"""

DEPENDS_ON_MORE = {
    "CAP-006": "account and Region",
    "CLU-002": "whether several controllers share their state",
    "LAC-007": "the addresses of nodes",
}
"""Rules for which these settings are not enough, and what they have to know."""

A_KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"

EXISTING = "existing: a file system that is there is not made: leave the construct out"

NO_SCRIPTS = "lifecycle: mode '{mode}' has scripts: name them, or choose mode 'managed'"
NEEDLESS_SCRIPTS = "lifecycle: mode 'managed' has no scripts: remove them, or choose 'extended'"


def mistakes_of_lustre(settings: Lustre, *, has_key: bool = False) -> tuple[str, ...]:
    """Return the mistakes that FSx for Lustre would refuse, each with the allowed values.

    `has_key` says that there is a key of the user's, which the settings need not name.
    """
    if settings.existing:
        return (EXISTING,)
    if has_key:
        settings = settings.model_copy(update={"kms_key_arn": A_KEY})
    areas = (STORAGE, MOUNTS, LUSTRE, TIERING, ACCESS)
    place = ("storage", "lustre")
    return _mistakes(areas, [place], storage=Storage.model_construct(lustre=settings))


def mistakes_of_openzfs(settings: OpenZfs) -> tuple[str, ...]:
    """Return the mistakes that FSx for OpenZFS would refuse, each with the allowed values."""
    if settings.existing:
        return (EXISTING,)
    areas = (STORAGE, MOUNTS, ZFS)
    return _mistakes(areas, [OPENZFS], storage=Storage.model_construct(openzfs=settings))


def mistakes_of_cluster(cluster: ClusterProperties) -> tuple[str, ...]:
    """Return the mistakes that HyperPod would refuse, each with the allowed values."""
    if cluster.mode == "managed" and cluster.lifecycle:
        return (NEEDLESS_SCRIPTS,)
    if cluster.mode != "managed" and not cluster.lifecycle:
        return (NO_SCRIPTS.format(mode=cluster.mode),)
    groups = (CLUSTER, TYPES, CAPACITY, SLURM, VOLUMES, HEALTH_CHECKS, UPDATES, ROLLOUTS)
    described = Cluster.model_construct(
        node_recovery=cluster.node_recovery,
        provisioning=cluster.provisioning,
        groups=tuple(_settings(group) for group in cluster.groups),
    )
    return _mistakes(
        (*groups, PROVISIONING),
        [("cluster",), ("slurm",)],
        cluster=described,
        lifecycle=Lifecycle.model_construct(mode=cluster.mode),
        slurm=Slurm.model_construct(config_strategy=cluster.config_strategy),
    )


def _settings(group: InstanceGroup) -> Group:
    """Return the settings of a group, with its keys; the zone of its subnet is not known."""
    update: dict[str, str | None] = {"zone": None}
    if group.volume_key:
        update["volume_kms_key_arn"] = A_KEY
    if group.root_volume_key:
        update["root_volume_kms_key_arn"] = A_KEY
    return group.settings.model_copy(update=update)


def _mistakes(
    areas: Collection[Area], places: Collection[YamlPath], **sections: Any
) -> tuple[str, ...]:
    environment = _stand_in().environment
    assert environment is not None  # noqa: S101  # it has no mistakes
    changed = environment.model_copy(update=sections)
    return tuple(_found(replace(_stand_in(), environment=changed), areas, places))


@cache
def _stand_in() -> Reading:
    return read_as("stand-in.yaml", STAND_IN)


def _found(
    reading: Reading, areas: Collection[Area], places: Collection[YamlPath]
) -> Iterator[str]:
    """Yield the errors at and below `places`; warnings are for those who read the file."""
    resolved = resolve(reading)
    for rule in (rule for area in areas for rule in area.rules):
        if rule.severity is not Severity.ERROR or rule.id in DEPENDS_ON_MORE:
            continue
        for finding in rule.check(resolved) if rule.check else ():
            for place in (each for each in places if finding.path[: len(each)] == each):
                key = ".".join(map(str, finding.path[len(place) :]))
                yield f"{key}: {finding.message}: {finding.fix or rule.fix} [{rule.id}]"
