"""Rules applied to settings that stand in no file, such as those of constructs in other CDK apps.

An environment without mistakes stands in around them. What depends on more than the settings, such
as the addresses of nodes, is not judged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from slurmpod.environment.lustre import Lustre
from slurmpod.environment.openzfs import OpenZfs
from slurmpod.environment.storage import Storage
from slurmpod.problems import Severity, YamlPath
from slurmpod.reading.read import Reading, read_as
from slurmpod.resolve import resolve
from slurmpod.rules import lustre, lustre_access, openzfs, storage
from slurmpod.rules.file_systems import OPENZFS
from slurmpod.rules.registry import Area

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

LUSTRE = ("storage", "lustre")


DEPENDS_ON_MORE = frozenset({"LAC-007"})
"""Rules for which the settings are not enough: who squashes root must know the nodes' addresses."""

A_KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"

EXISTING = "existing: a file system that is there is not made: leave the construct out"


def mistakes_of_lustre(settings: Lustre, *, has_key: bool = False) -> tuple[str, ...]:
    """Return in words what FSx for Lustre would refuse, each with what is allowed.

    `has_key` says that there is a key of the user's, which the settings need not name.
    """
    if settings.existing:
        return (EXISTING,)
    areas = (storage.STORAGE, storage.MOUNTS, lustre.LUSTRE, lustre.TIERING, lustre_access.ACCESS)
    if has_key:
        settings = settings.model_copy(update={"kms_key_arn": A_KEY})
    return _mistakes(areas, LUSTRE, storage=Storage.model_construct(lustre=settings))


def mistakes_of_openzfs(settings: OpenZfs) -> tuple[str, ...]:
    """Return in words what FSx for OpenZFS would refuse, each with what is allowed."""
    if settings.existing:
        return (EXISTING,)
    areas = (storage.STORAGE, storage.MOUNTS, openzfs.ZFS)
    return _mistakes(areas, OPENZFS, storage=Storage.model_construct(openzfs=settings))


def _mistakes(areas: Collection[Area], place: YamlPath, **sections: Any) -> tuple[str, ...]:
    environment = _stand_in().environment
    assert environment is not None  # noqa: S101  # it has no mistakes
    changed = environment.model_copy(update=sections)
    return tuple(_found(replace(_stand_in(), environment=changed), areas, place))


@cache
def _stand_in() -> Reading:
    return read_as("stand-in.yaml", STAND_IN)


def _found(reading: Reading, areas: Collection[Area], place: YamlPath) -> Iterator[str]:
    """Yield the errors at and below `place`; warnings are for those who read the file."""
    resolved = resolve(reading)
    for rule in (rule for area in areas for rule in area.rules):
        if rule.severity is not Severity.ERROR or rule.id in DEPENDS_ON_MORE:
            continue
        for finding in rule.judge(resolved) if rule.judge else ():
            if finding.path[: len(place)] == place:
                key = ".".join(map(str, finding.path[len(place) :]))
                yield f"{key}: {finding.message}: {finding.fix or rule.fix} [{rule.id}]"
