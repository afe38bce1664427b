"""The proof of a rehearsal on an observed image."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.platform_profiles.canary import (
    NotProven,
    canary_file,
    canary_of,
    require_canary,
    write_canary,
)

SCRIPTS = "lifecycle/0123456789ab"


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    file = tmp_path / "newer.yaml"
    file.write_text("about: A newer image.\n")
    write_canary(file, canary_of(file, SCRIPTS, "jobs/mine"))
    return file


def test_what_was_rehearsed_is_proven(profile: Path) -> None:
    assert canary_file(profile).name == "newer.canary.json"
    assert require_canary(profile, SCRIPTS).job == "jobs/mine"


def test_other_scripts_are_not_proven(profile: Path) -> None:
    with pytest.raises(NotProven, match="lifecycle/0123456789ab was rehearsed, but lifecycle/new "):
        require_canary(profile, "lifecycle/new")


def test_another_image_is_not_proven(profile: Path) -> None:
    profile.write_text("about: A still newer image.\n")
    with pytest.raises(NotProven, match="has changed since it was rehearsed"):
        require_canary(profile, SCRIPTS)


@pytest.mark.parametrize("content", [None, "{", '{"job": ""}', "[]"])
def test_without_a_proof_the_command_that_makes_one_is_told(
    profile: Path, content: str | None
) -> None:
    canary_file(profile).unlink()
    if content is not None:
        canary_file(profile).write_text(content)
    with pytest.raises(NotProven, match="fix: slurmpod rehearse ENVIRONMENT --observed PROFILE"):
        require_canary(profile, SCRIPTS)
