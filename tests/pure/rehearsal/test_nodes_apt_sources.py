"""Finding Debian's mirror among a computer's apt sources."""

from __future__ import annotations

import platform

import pytest

from slurmpod.rehearsal.nodes.apt_sources import choose_mirror, debian_mirror

ARCHIVE = "http://mirror.test/debian/"
OTHERS = """\
http://mirror.test/debian-security/ bookworm-security main
http://docker.test/linux/debian/ bookworm stable
http://vendor.test/apt/ bookworm main
http://mirror.test/debian/ bookworm-backports main
http://mirror.test/debian/ bookworm contrib
http://flat.test/debian/ ./
"""


def test_debians_archive_among_others() -> None:
    assert choose_mirror(f"{OTHERS}{ARCHIVE} bookworm main\n", "bookworm") == ARCHIVE
    assert choose_mirror(OTHERS, "bookworm") is None


@pytest.mark.parametrize("release", [{"ID": "ubuntu", "VERSION_CODENAME": "bookworm"}, {}])
def test_none_where_packages_are_not_debians(
    monkeypatch: pytest.MonkeyPatch, release: dict[str, str]
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    assert debian_mirror() is None
