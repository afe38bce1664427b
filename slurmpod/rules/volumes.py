"""Rules for the volumes of nodes and the keys that encrypt them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rules.groups import API, GUIDE, at
from slurmpod.rules.named_arns import NAME_A_KEY_OF_THE_REGION, of_another_region
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.cluster import Group
    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

VOLUMES = Area("VOL", "Volumes of nodes")

EBS_VOLUMES = f"{API}API_ClusterEbsVolumeConfig.html"
KEYS_OF_CUSTOMERS = f"{GUIDE}smcluster-cmk.html"

KEYS = ("volume_kms_key_arn", "root_volume_kms_key_arn")


@VOLUMES.rule(
    "VOL-001",
    "An additional volume with a key has a size",
    why="The key is for the additional volume, and without a size there is none.",
    fix="add volume_gib; the key of the root volume is root_volume_kms_key_arn",
    source=EBS_VOLUMES,
)
def _key_has_a_volume(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.volume_kms_key_arn and not group.volume_gib:
            message = f"'{group.name}' has no additional volume to encrypt"
            yield Finding(at(index, "volume_kms_key_arn"), message)


@VOLUMES.rule(
    "VOL-002",
    "Keys of volumes are in this Region",
    why="A volume can be encrypted with a key of its own Region only.",
    fix=NAME_A_KEY_OF_THE_REGION,
    source="https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption.html",
)
def _keys_are_here(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        for key, arn in _keys(group):
            yield from of_another_region(environment, arn, at(index, key))


@VOLUMES.rule(
    "VOL-003",
    "Own keys for volumes come with continuous provisioning",
    why="HyperPod encrypts volumes with keys of customers in clusters with continuous provisioning "
    "only.",
    fix="write 'provisioning: continuous' under cluster, or remove the key: AWS's own is used",
    source=KEYS_OF_CUSTOMERS,
)
def _keys_are_continuous(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        for key, _arn in _keys(group):
            if not resolved.continuous:
                message = "a key of your own needs continuous provisioning"
                yield Finding(at(index, key), message)


def _keys(group: Group) -> list[tuple[str, str]]:
    """Return the keys that a group names, with where it names them."""
    return [(key, arn) for key in KEYS if (arn := getattr(group, key))]
