"""Differences between live nodes and a profile, and the profile that describes them; pure.

The facts come from `platform_facts` of the lifecycle scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slurmpod.environment.cluster import Role
from slurmpod.platform_profiles.difference import Difference
from slurmpod.platform_profiles.image_differences import ObservedNode, image_differences
from slurmpod.platform_profiles.profile import Profile
from slurmpod.platform_profiles.slurm_differences import slurm_differences


def differences(nodes: Sequence[ObservedNode], profile: Profile) -> tuple[Difference, ...]:
    """Return the differences between live nodes and a profile, worst first.

    slurm.conf and the files beside it come from the first controller, if one was inspected.
    """
    controller = next((node for node in nodes if node.role is Role.CONTROLLER), None)
    logins = [node.name for node in nodes if node.role is Role.LOGIN]
    found = [*image_differences(nodes, profile)]
    if controller:
        found += slurm_differences(controller.now["slurm_files"], profile.slurm_conf, logins)
    return tuple(sorted(found, key=lambda each: each.rank))


def as_profile(found: Iterable[Difference], about: str, source: str) -> Mapping[str, Any]:
    """Return differences as a profile to merge over the one they were compared with."""
    values: dict[str, Any] = {"about": about, "source": source, "confidence": "certain"}
    for each in found:
        if each.is_own_of_rehearsals or not each.everywhere:
            continue
        *inside, key = each.place
        section = values
        for name in inside:
            section = section.setdefault(name, {})
        section[key] = each.live
    return values
