"""HyperPod's software on nodes, and the image they boot from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slurmpod.platform_profiles.profile import Profile


@dataclass(frozen=True)
class Software:
    """A generation of HyperPod's image; without `image`, the default of all machines."""

    profile: Profile
    image: Path | None = None
