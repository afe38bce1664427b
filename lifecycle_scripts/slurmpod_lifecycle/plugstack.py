"""plugstack.conf with pyxis in it: inline, and once.

slurmctld hands plugstack.conf to configless nodes, but no file that it includes by a path, and no
pattern of files. Images load pyxis by such an include. Nodes without that file would not know
`--container-image`; on nodes that have it, a second line would load pyxis twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

PLUGIN = "spank_pyxis.so"
_INCLUDE = re.compile(r"^\s*include\s+(\S+)\s*$", re.IGNORECASE)


def with_pyxis(text: str, library: str, files_of: Callable[[str], Sequence[str]]) -> str:
    """Return plugstack.conf with one line for pyxis, the last one.

    `files_of` returns the texts of the files that a pattern names. What else is in a file that
    loads pyxis moves into plugstack.conf with it; other includes stay. Options that the image gives
    pyxis are kept.
    """
    lines = [line for each in text.splitlines() for line in _inlined(each, files_of)]
    loading = [line for line in lines if _loads_pyxis(line)]
    options = loading[0].split()[2:] if loading else []
    kept = [line for line in lines if not _loads_pyxis(line)]
    return "".join(f"{line}\n" for line in [*kept, " ".join(["required", library, *options])])


def _inlined(line: str, files_of: Callable[[str], Sequence[str]]) -> list[str]:
    """Return the lines that an include stands for, if one of them loads pyxis; else the line."""
    match = _INCLUDE.match(line)
    if match is None:
        return [line]
    lines = [each for text in files_of(match.group(1)) for each in text.splitlines()]
    return lines if any(map(_loads_pyxis, lines)) else [line]


def _loads_pyxis(line: str) -> bool:
    words = line.split("#")[0].split()
    return len(words) > 1 and words[1].rpartition("/")[2] == PLUGIN
