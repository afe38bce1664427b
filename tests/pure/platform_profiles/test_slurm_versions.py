"""Which Slurm nodes of a rehearsal have."""

from __future__ import annotations

import pytest

from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.slurm_versions import DEBIAN, DEFAULT_SLURM, SlurmVersion, nearest


def test_the_image_that_is_baked_first_is_that_of_the_default_profile() -> None:
    assert load().profile.image.slurm is DEFAULT_SLURM


def test_a_debian_brings_each_version() -> None:
    assert [*DEBIAN] == [*SlurmVersion]


@pytest.mark.parametrize(
    ("has", "stands_for_it"),
    [
        ("23.11.1", "24.11"),
        ("24.11.0", "24.11"),
        ("25.05.3", "26.05"),
        ("25.11.4", "26.05"),
        ("26.05.5-1", "26.05"),
        ("27.05", "26.05"),
    ],
)
def test_the_next_version_stands_for_one_that_debian_lacks(has: str, stands_for_it: str) -> None:
    assert nearest(has) == stands_for_it
