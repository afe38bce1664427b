"""Facts about the instance types of SageMaker's services, which include more than HyperPod's."""

from __future__ import annotations

import re
from functools import cache

from slurmpod.environment.catalog import InstanceType, family_of, instance_types
from slurmpod.environment.facts import fact, table
from slurmpod.value import Value

SERVICE_TYPES_AS_OF = fact("instance_types.endpoints").when
"""Date of the lists of types, from the SageMaker API."""

MIB = 2**20

ACCELERATORS_OF_OTHER_TYPES = {
    "ml.inf2.xlarge": (1, 32_768),
    "ml.inf2.8xlarge": (1, 32_768),
    "ml.inf2.24xlarge": (6, 32_768),
    "ml.inf2.48xlarge": (12, 32_768),
    "ml.p3.2xlarge": (1, 16_384),
    "ml.p3.8xlarge": (4, 16_384),
    "ml.p3.16xlarge": (8, 16_384),
}
"""Number and memory in MiB of the accelerators of types that HyperPod does not have (Amazon EC2
instance types, accelerated computing).
"""

WITH_DISKS = re.compile(r"[cmr][0-9]+[agi]?d")
"""Families with local disks that HyperPod does not have: their names end with a d."""


class Memory(Value):
    """The memory of an instance for a model: that of its accelerators, or else main memory.

    `places` are the accelerators, 1 without any; `bytes_each` what each of them has.
    """

    places: int
    bytes_each: int
    has_accelerators: bool

    @property
    def bytes_together(self) -> int:
        """The memory of all accelerators."""
        return self.places * self.bytes_each


@cache
def endpoint_types() -> frozenset[str]:
    """Return the types that the API accepts for endpoints.

    AWS adds types: use it for warnings only.
    """
    return frozenset(table(fact("instance_types.endpoints")))


@cache
def notebook_types() -> frozenset[str]:
    """Return the types that the API accepts for notebook instances; for warnings only, too."""
    return frozenset(table(fact("instance_types.notebooks")))


def memory_of(name: str) -> Memory | None:
    """Return the memory for models of an instance type; None where it is not known."""
    if other := ACCELERATORS_OF_OTHER_TYPES.get(name):
        return Memory(other[0], other[1] * MIB, has_accelerators=True)
    facts = instance_types().get(name)
    return _memory(facts) if facts else None


def _memory(facts: InstanceType) -> Memory | None:
    if not facts.accelerator_count:
        return Memory(1, facts.memory_mib * MIB, has_accelerators=False)
    if not facts.accelerator_memory_mib:
        return None
    each = facts.accelerator_memory_mib * MIB
    return Memory(facts.accelerator_count, each, has_accelerators=True)


def has_own_disks(name: str) -> bool:
    """Return whether instances of a type have local disks."""
    facts = instance_types().get(name)
    return bool(facts.local_nvme_gb if facts else WITH_DISKS.fullmatch(family_of(name)))
