"""HyperPod's software on nodes: what it puts there, and what they boot from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slurmpod.platform_profiles.profile import Profile


@dataclass(frozen=True)
class Software:
    """A generation of HyperPod's image; without `image` it is the one that all machines have."""

    profile: Profile
    image: Path | None = None
