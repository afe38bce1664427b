"""Finding Debian's mirror among a computer's apt sources."""

from __future__ import annotations

import pytest

from slurmpod.rehearsal.nodes.image import (
    Source,
    choose_mirror,
    parse_deb822,
    parse_one_line,
)

BOOKWORM = {"ID": "debian", "VERSION_CODENAME": "bookworm"}


class TestParseOneLine:
    def test_options_comments_and_source_packages(self) -> None:
        text = """
            # deb http://mirror.test/debian bookworm main
            deb [signed-by=/k.gpg arch=amd64] http://mirror.test/debian bookworm main contrib # new
            deb-src http://mirror.test/debian bookworm main
            deb http://flat.test/debian ./
        """
        assert list(parse_one_line(text)) == [
            Source("http://mirror.test/debian", "bookworm", ("main", "contrib"))
        ]


class TestParseDeb822:
    def test_each_uri_and_suite(self) -> None:
        text = (
            "Types: deb deb-src\n"
            "# http://snapshot.test/debian\n"
            "URIs: http://one.test/debian\n"
            " http://two.test/debian\n"
            "Suites: bookworm bookworm-updates\n"
            "Components: main\n"
        )
        assert list(parse_deb822(text)) == [
            Source(f"http://{host}.test/debian", suite, ("main",))
            for host in ("one", "two")
            for suite in ("bookworm", "bookworm-updates")
        ]

    def test_paragraphs_that_are_switched_off(self) -> None:
        text = (
            "Enabled: no\nTypes: deb\nURIs: http://off.test/debian\nSuites: bookworm\n\n"
            "Types: deb-src\nURIs: http://src.test/debian\nSuites: bookworm\n\n"
            "Types: deb\nURIs: http://on.test/debian\nSuites: bookworm\nComponents: main\n"
        )
        assert [source.uri for source in parse_deb822(text)] == ["http://on.test/debian"]


class TestChooseMirror:
    ARCHIVE = Source("http://mirror.test/debian/", "bookworm", ("main",))

    def test_debians_archive_among_others(self) -> None:
        others = [
            Source("http://mirror.test/debian-security", "bookworm-security", ("main",)),
            Source("http://docker.test/linux/debian", "bookworm", ("stable",)),
            Source("http://vendor.test/apt", "bookworm", ("main",)),
            Source("http://mirror.test/debian", "bookworm-backports", ("main",)),
        ]
        assert choose_mirror(BOOKWORM, [*others, self.ARCHIVE]) == self.ARCHIVE.uri
        assert choose_mirror(BOOKWORM, others) is None

    @pytest.mark.parametrize("release", [{"ID": "ubuntu", "VERSION_CODENAME": "bookworm"}, {}])
    def test_none_where_packages_are_not_debians(self, release: dict[str, str]) -> None:
        assert choose_mirror(release, [self.ARCHIVE]) is None
