"""Machine images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight import names
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import GUIDE, known_types
from slurmpod.rules.registry import Finding

OWN_IMAGES = f"{GUIDE}hyperpod-custom-ami-support.html"
OLD_DAYS = 180
"""HyperPod publishes images about monthly, with drivers and patches (its release notes)."""


@dataclass(frozen=True)
class Image:
    """A machine image; `architecture` is empty if unknown."""

    state: str
    architecture: str
    created: datetime


def _images(clients: AwsClients, resolved: Resolved) -> dict[str, Image | None]:
    wanted = names.images(resolved)
    filters = [{"Name": "image-id", "Values": list(wanted)}]
    found = {
        each["ImageId"]: each for each in clients.ec2.describe_images(Filters=filters)["Images"]
    }
    return {id_: _image(found[id_]) if id_ in found else None for id_ in wanted}


def _image(found: Any) -> Image:
    created = datetime.fromisoformat(found["CreationDate"])
    return Image(found["State"], found.get("Architecture", ""), created)


IMAGES = Question(
    "images",
    "machine images",
    ("ec2:DescribeImages",),
    ("ec2",),
    _images,
    named=names.images,
)


@PREFLIGHT.rule(
    "PRE-501",
    "Images exist",
    why="AMIs are regional, and visible only to their account and those that they are shared with.",
    fix="copy the image into the Region, or share it with the account",
    source=OWN_IMAGES,
)
def _images_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    found = facts[IMAGES] or {}
    for id_, path in names.images(resolved).items():
        image = found.get(id_)
        if id_ in found and image is None:
            yield Finding(path, f"{resolved.region} has no image {id_} for this account")
        elif image and image.state != "available":
            yield Finding(path, f"{id_} is {image.state}")


@PREFLIGHT.rule(
    "PRE-502",
    "Images have the architecture of the nodes",
    why="An image for x86_64 does not start on Graviton or Grace, and the other way round.",
    fix="write an image of the type's architecture",
    source=OWN_IMAGES,
)
def _architecture_fits(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for group in resolved.groups:
        image = (facts[IMAGES] or {}).get(group.settings.image_id or "")
        for each in known_types(group) if image and image.architecture else ():
            if image and each.architecture != image.architecture:
                message = (
                    f"the image is for {image.architecture}, {each.name} is {each.architecture}"
                )
                yield Finding((*group.path, "image_id"), message)


@PREFLIGHT.rule(
    "PRE-503",
    "Images are fresh",
    why="Old images have drivers and libraries with known faults, and HyperPod's agents evolve.",
    fix="rebuild the image from HyperPod's latest; suppress it if it is pinned on purpose",
    source=OWN_IMAGES,
    severity=Severity.WARNING,
)
def _images_are_fresh(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for id_, path in names.images(resolved).items():
        image = (facts[IMAGES] or {}).get(id_)
        if image and facts.taken_at - image.created > timedelta(days=OLD_DAYS):
            days = (facts.taken_at - image.created).days
            yield Finding(path, f"{id_} is {days} days old")


QUESTIONS = (IMAGES,)
