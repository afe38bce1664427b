"""Debian mirrors with which this computer is configured."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_OPTIONS = re.compile(r"\[[^]]*\]")


@dataclass(frozen=True)
class Source:
    """One place that apt gets packages from: an archive and a suite of it."""

    uri: str
    suite: str
    components: tuple[str, ...]


def debian_mirror() -> str | None:
    """Return the URI of the Debian mirror in this computer's apt sources, if there is one."""
    return choose_mirror(platform.freedesktop_os_release(), _read_sources(Path("/etc/apt")))


def choose_mirror(os_release: Mapping[str, str], sources: Iterable[Source]) -> str | None:
    """Return the URI of the first source that is Debian's own archive.

    None when the computer does not run Debian or no source is that archive; mmdebstrap's default
    serves then. Third parties name suites after Debian's too, but have no component `main`.
    """
    if os_release.get("ID") != "debian":
        return None
    suite = os_release.get("VERSION_CODENAME", "sid")
    for source in sources:
        is_archive = source.uri.rstrip("/").endswith("/debian")
        if is_archive and source.suite == suite and "main" in source.components:
            return source.uri
    return None


def parse_one_line(text: str) -> Iterator[Source]:
    """Yield the sources of a `.list` file: `deb [options] URI suite component...`."""
    for line in text.splitlines():
        words = _OPTIONS.sub("", line.partition("#")[0]).split()
        if len(words) >= 4 and words[0] == "deb":
            yield Source(words[1], words[2], tuple(words[3:]))


def parse_deb822(text: str) -> Iterator[Source]:
    """Yield the sources of a `.sources` file: paragraphs of `Types:`, `URIs:`, `Suites:`..."""
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        fields = _fields(paragraph)
        if fields.get("enabled") == ["no"] or "deb" not in fields.get("types", []):
            continue
        for uri in fields.get("uris", []):
            for suite in fields.get("suites", []):
                yield Source(uri, suite, tuple(fields.get("components", [])))


def _read_sources(folder: Path) -> Iterator[Source]:
    more = folder / "sources.list.d"
    for path in (folder / "sources.list", *sorted(more.glob("*.list"))):
        if path.is_file():
            yield from parse_one_line(path.read_text())
    for path in sorted(more.glob("*.sources")):
        yield from parse_deb822(path.read_text())


def _fields(paragraph: str) -> dict[str, list[str]]:
    """Return the words of each field of a paragraph; an indented line continues a field."""
    fields: dict[str, list[str]] = {}
    name = ""
    for line in paragraph.splitlines():
        value = line
        if not line.startswith((" ", "\t")):
            name, _, value = line.partition(":")
        fields.setdefault(name.lower(), []).extend(value.split())
    return fields
