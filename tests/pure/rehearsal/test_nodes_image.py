"""The node image's name says what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod.platform_profiles.slurm_versions import (
    DEBIAN,
    DEFAULT_SLURM,
    Debian,
    SlurmVersion,
)
from slurmpod.rehearsal.nodes import image
from slurmpod.rehearsal.nodes.additions import NOTHING, Additions, DebFile
from slurmpod.rehearsal.nodes.image import digest

if TYPE_CHECKING:
    import pytest


def test_same_ingredients_same_name() -> None:
    assert digest() == digest()


def test_another_slurm_or_suite_or_package_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {digest(slurm=version) for version in SlurmVersion}
    debian = {**DEBIAN, DEFAULT_SLURM: Debian("sid", python="3.14")}
    monkeypatch.setattr(image, "DEBIAN", debian)
    names.add(digest())
    monkeypatch.setattr(image, "_OPTIONS", ("--include=systemd",))
    assert len({*names, digest()}) == len(SlurmVersion) + 2


def test_a_package_that_is_taken_from_beside_is_asked_for_there() -> None:
    debian = Debian("forky", python="3.14", beside="trixie", from_beside=("prometheus", "more"))
    asked = image._include(NOTHING, debian).removeprefix("--include=").split(",")
    assert {"prometheus/trixie", "more/trixie"} < {*asked}
    assert "prometheus-node-exporter" in asked
    assert "prometheus" not in asked


def test_another_file_another_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(image, "FILES", tmp_path)
    names = {digest()}
    (tmp_path / "a").write_text("one")
    names.add(digest())
    (tmp_path / "a").write_text("two")
    names.add(digest())
    (tmp_path / "a").rename(tmp_path / "b")
    names.add(digest())
    assert len(names) == 4


def test_an_image_with_more_packages_is_another_one() -> None:
    more = [
        Additions(),
        Additions(packages=("slapd",)),
        Additions(pip=("slapd",)),
        Additions(debs=(DebFile("/slapd.deb", "ab"),)),
        Additions(debs=(DebFile("/slapd.deb", "cd"),)),
    ]
    assert len({digest(each) for each in more}) == len(more)
    assert digest(Additions(debs=(DebFile("/moved.deb", "ab"),))) == digest(more[3])
