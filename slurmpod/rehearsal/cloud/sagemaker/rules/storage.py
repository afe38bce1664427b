"""Rules for InstanceStorageConfigs: volumes of the instances and shared file systems."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOUNT_PATHS: Final[Mapping[str, str]] = {"FsxLustreConfig": "/fsx", "FsxOpenZfsConfig": "/home"}
"""Where file systems are mounted when no MountPath is given (developer guide)."""

_VOLUMES = {True: "root volume", False: "secondary volume"}


def storage_rules(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the storage of all groups."""
    groups = request.get("InstanceGroups") or []
    for group in groups:
        configs = group.get("InstanceStorageConfigs", [])
        for config in configs:
            yield from _one_kind(group["InstanceGroupName"], config)
        yield from _volumes(group["InstanceGroupName"], configs)
        yield from _file_systems(group["InstanceGroupName"], configs)
    if not any(_fsx_kinds(group) for group in groups):
        return
    if not request.get("VpcConfig"):
        yield "FSx configurations are only supported for Custom VPC"
    if not any(group.get("SlurmConfig", {}).get("NodeType") == "Controller" for group in groups):
        yield "FSx configurations need an instance group whose SlurmConfig has NodeType Controller"


def _fsx_kinds(group: Mapping[str, Any]) -> list[str]:
    configs = group.get("InstanceStorageConfigs", [])
    return [kind for config in configs for kind in config if kind in MOUNT_PATHS]


def _one_kind(name: str, config: Mapping[str, Any]) -> Iterator[str]:
    if len(config) != 1:
        yield f"Each InstanceStorageConfig of instance group {name} needs exactly one kind"


def _volumes(name: str, configs: list[dict[str, Any]]) -> Iterator[str]:
    volumes = [config["EbsVolumeConfig"] for config in configs if "EbsVolumeConfig" in config]
    for is_root, count in Counter(bool(volume.get("RootVolume")) for volume in volumes).items():
        if count > 1:
            yield f"Instance group {name} configures its {_VOLUMES[is_root]} {count} times"
    for volume in volumes:
        if not volume.get("RootVolume"):
            if "VolumeSizeInGB" not in volume:
                yield f"The secondary volume of instance group {name} needs VolumeSizeInGB"
            continue
        if "VolumeSizeInGB" in volume:
            yield f"VolumeSizeInGB of the root volume of instance group {name} cannot be chosen"
        if "VolumeKmsKeyId" not in volume:
            yield f"The root volume of instance group {name} needs VolumeKmsKeyId"


def _file_systems(name: str, configs: list[dict[str, Any]]) -> Iterator[str]:
    paths = []
    for kind, default in MOUNT_PATHS.items():
        found = [config[kind] for config in configs if kind in config]
        if len(found) > 1:
            yield f"Each instance group can have at most one {kind}; {name} has {len(found)}"
        paths += [config.get("MountPath", default) for config in found[:1]]
    if len(set(paths)) < len(paths):
        yield f"Instance group {name} mounts two file systems at {paths[0]}"
