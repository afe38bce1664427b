"""The node image, with the bake shown as a stage when there is one."""

from __future__ import annotations

from pathlib import Path

from slurmpod.rehearsal.nodes.image import bake, image_path
from slurmpod.rehearsal.progress import Progress


def baked_image(progress: Progress) -> Path:
    """Return the node image, made now if it is not there; raises BakeFailed."""
    image = image_path()
    if image.exists():
        return image
    with progress.stage("node image baked"):
        return bake(progress.now)
