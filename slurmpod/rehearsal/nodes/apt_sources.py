"""Which Debian mirror this computer is configured with."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OPTIONS = re.compile(r"\[[^]]*\]")


def debian_mirror(apt_folder: Path = Path("/etc/apt")) -> str | None:
    """Return the URI of the Debian mirror in this computer's apt sources.

    None when the computer does not run Debian, or no source is Debian's main archive; then
    mmdebstrap's own default is the best guess.
    """
    release = platform.freedesktop_os_release()
    if release["ID"] != "debian":
        return None
    codename = release.get("VERSION_CODENAME", "sid")
    sources = _sources(apt_folder)
    return next(
        (uri for uri, suite, parts in sources if _is_debian(uri, suite, parts, codename)), None
    )


def parse_one_line(text: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield (URI, suite, components) of `deb [options] URI suite component...` lines."""
    for line in text.splitlines():
        words = _OPTIONS.sub("", line.partition("#")[0]).split()
        if len(words) >= 4 and words[0] == "deb":
            yield words[1], words[2], tuple(words[3:])


def parse_deb822(text: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield (URI, suite, components) of `Types: ... URIs: ...` paragraphs, one by one."""
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        fields = _fields(paragraph)
        enabled = fields.get("enabled", ["yes"]) != ["no"]
        if enabled and "deb" in fields.get("types", []):
            for uri in fields.get("uris", []):
                for suite in fields.get("suites", []):
                    yield uri, suite, tuple(fields.get("components", []))


def _sources(apt_folder: Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for path in (apt_folder / "sources.list", *_in_order(apt_folder, "*.list")):
        if path.is_file():
            yield from parse_one_line(path.read_text())
    for path in _in_order(apt_folder, "*.sources"):
        yield from parse_deb822(path.read_text())


def _in_order(apt_folder: Path, pattern: str) -> Iterable[Path]:
    return sorted((apt_folder / "sources.list.d").glob(pattern))


def _fields(paragraph: str) -> dict[str, list[str]]:
    """Parse the fields of a deb822 paragraph; a line that begins with a space continues one."""
    fields: dict[str, list[str]] = {}
    name = ""
    for line in paragraph.splitlines():
        value = line
        if not line.startswith((" ", "\t")):
            name, _, value = line.partition(":")
        fields.setdefault(name.lower(), []).extend(value.split())
    return fields


def _is_debian(uri: str, suite: str, components: tuple[str, ...], codename: str) -> bool:
    """Tell Debian's archive from third parties', who also name their suites after Debian's."""
    return uri.rstrip("/").endswith("/debian") and suite == codename and "main" in components
