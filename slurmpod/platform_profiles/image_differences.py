"""Differences between the images of live nodes and a profile, computed from facts; pure.

Software that scripts installed is not counted as HyperPod's if the original state was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slurmpod.environment.cluster import Role
from slurmpod.platform_profiles.difference import Difference
from slurmpod.platform_profiles.profile import Agents, Image, Line, Profile, Software
from slurmpod.platform_profiles.slurm_versions import nearest

_CHANGED = ("software", "disks", "etc", "accounting_conf")
"""The facts that lifecycle scripts may change."""

_ETC = "/opt/slurm/etc/"
_ACCOUNTING_CONF = f"{_ETC}accounting.conf"
_OF_SCRIPTS = "# Written by slurmpod's lifecycle scripts"
"""The first words of a file that scripts have filled in. It is part of the image's facts if the
scripts failed to record them on the first run and a later run did."""

_Value = tuple[tuple[str, ...], Any, Any]
"""A path in the profile, the value there, and the live value."""


@dataclass(frozen=True)
class ObservedNode:
    """A live node: its facts now, and the facts recorded before its scripts changed it."""

    name: str
    role: Role
    now: Mapping[str, Any]
    at_first: Mapping[str, Any] = field(default_factory=dict)

    @property
    def image(self) -> Mapping[str, Any]:
        """The facts of the image; for what scripts change, the recorded ones."""
        before = {name: self.at_first[name] for name in _CHANGED if name in self.at_first}
        return {**self.now, **before}


def image_differences(nodes: Sequence[ObservedNode], profile: Profile) -> Iterator[Difference]:
    """Yield each difference between the nodes' images and the profile once, with its nodes."""
    reported: dict[tuple[str, ...], set[str]] = {}
    seen: dict[tuple[tuple[str, ...], str], list[tuple[str, Any, Any]]] = {}
    for node in nodes:
        values = [*_values_of_agents(node, profile.agents), *_values_of_image(node, profile.image)]
        for place, expected, live in values:
            reported.setdefault(place, set()).add(node.name)
            if live != expected:
                seen.setdefault((place, repr(live)), []).append((node.name, expected, live))
    for (place, _), each in seen.items():
        (_, expected, live), names = each[0], tuple(sorted(name for name, _, _ in each))
        everywhere = set(names) == reported[place]
        yield Difference(place, expected, live, names, everywhere)


def _values_of_agents(node: ObservedNode, agents: Agents) -> Iterator[_Value]:
    """Yield the agents' log paths; a node without checks has no health check log."""
    written = node.image["agent_logs"]
    for name, path in agents.logs.model_dump(exclude={"deep_health_check"}).items():
        if written:
            there = path.rpartition("/")[2] in written
            yield ("agents", "logs", name), path, path if there else None


def _values_of_image(node: ObservedNode, image: Image) -> Iterator[_Value]:
    """Yield the path, the profile's value and the live value for each reported fact."""
    for place, expected, live in _values_in_image(node, image):
        yield ("image", *place), expected, live


def _values_in_image(node: ObservedNode, image: Image) -> Iterator[_Value]:
    facts = node.image
    reported: dict[tuple[str, ...], tuple[Any, Any]] = {
        ("slurm_trees",): ([*image.slurm_trees], facts["slurm_trees"]),
        ("interface",): (image.interface, facts["interface"]),
        ("disks",): (sorted(image.disks), facts["disks"]),
        ("metadata_needs_token",): (image.metadata_needs_token, facts["metadata_needs_token"]),
    }
    reported |= {
        ("software", name): (getattr(image.software, name), facts["software"][name])
        for name in Software.model_fields
    }
    if facts.get("versions"):
        reported["slurm",] = str(image.slurm), str(nearest(facts["versions"][0].split()[-1]))
    reported |= {
        ("users", name): (image.users.get(name), uid) for name, uid in facts["users"].items()
    }
    yield from ((place, *values) for place, values in reported.items() if values[1] is not None)
    yield from _values_of_units(facts["units"], image)
    if node.role is Role.CONTROLLER:
        for path in (path for path in image.files if path.startswith(_ETC)):
            there = path.removeprefix(_ETC) in facts["etc"]
            live = image.files[path] if path != _ACCOUNTING_CONF else facts["accounting_conf"]
            if not (there and live.startswith(_OF_SCRIPTS)):
                yield ("files", path), image.files[path], live if there else None


def _values_of_units(units: Mapping[str, str], image: Image) -> Iterator[_Value]:
    for name in image.units.keys() & units.keys():
        live = _unit(units[name])
        for section in dict.fromkeys((*image.units[name], *live)):
            expected, there = image.units[name].get(section, {}), live.get(section, {})
            for key in dict.fromkeys((*expected, *there)):
                yield ("units", name, section, key), expected.get(key), there.get(key)


def _unit(text: str) -> dict[str, Line]:
    """Return the sections of a unit; a repeated key becomes one value with several lines."""
    sections: dict[str, Line] = {}
    section: Line = {}
    for line in text.replace("\\\n", " ").splitlines():
        if match := re.fullmatch(r"\[(\w+)\]\s*", line):
            section = sections.setdefault(match[1], {})
        elif match := re.fullmatch(r"\s*(\w+)\s*=\s*(.*?)\s*", line):
            before = section.get(match[1])
            section[match[1]] = match[2] if before is None else f"{before}\n{match[2]}"
    return sections
