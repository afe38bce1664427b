"""Here documents of a shell script, which the grammar of tree-sitter-bash finds only in part."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from slurmpod.value import Value

NOT_NEWLINE = re.compile(r"[^\n]")
HERE_DOCUMENT = re.compile(
    r"""(?<!<)<<(?!<)-?[ \t]*+(?P<end>"[^"\n]*+"|'[^'\n]*+'|(?:\\.|[\w.-])++)""", re.ASCII
)


class HereDocument(Value):
    """The places of `<<END` in a text, of the document, and of the line that ends it."""

    operator: int
    behind_operator: int
    start: int
    stop: int
    behind: int
    is_literal: bool


def here_documents(text: str) -> Iterator[HereDocument]:
    """Yield the here documents of a text; one that is never closed is empty.

    The grammar knows one for each command, and takes `1 << 4` for one. A number ends none here.
    """
    closing = _closing_lines(text)
    behind = 0
    for line in re.finditer(r"^.*$\n?", text, re.MULTILINE) if "<<" in text else ():
        if line.start() < behind:
            continue
        behind = line.end()
        for match in HERE_DOCUMENT.finditer(line.group()):
            end = re.sub(r"[\"'\\]", "", match["end"])
            lines = [] if end.isdigit() or line.group().lstrip().startswith("#") else closing[end]
            index = bisect_left(lines, (behind, 0))
            stop, after = lines[index] if index < len(lines) else (behind, behind)
            operator = (line.start() + match.start(), line.start() + match.end())
            yield HereDocument(*operator, behind, stop, after, is_literal=end != match["end"])
            behind = after


def without(documents: tuple[HereDocument, ...], text: str) -> str:
    """Return a text with blanks in place of here documents."""
    spans = [(each.operator, each.behind_operator) for each in documents]
    parts, done = [], 0
    for start, stop in sorted(spans + [(each.start, each.behind) for each in documents]):
        parts += [text[done:start], blank(NOT_NEWLINE, text[start:stop])]
        done = stop
    return "".join((*parts, text[done:]))


def blank(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with the matches of a pattern replaced by blanks, keeping lines."""
    return pattern.sub(lambda match: NOT_NEWLINE.sub(" ", match.group()), text)


def _closing_lines(text: str) -> defaultdict[str, list[tuple[int, int]]]:
    """Return where lines begin and where the next one does, by their text behind tabs."""
    found = defaultdict(list)
    for line in re.finditer(r"^\t*+(.*)$", text if "<<" in text else "", re.MULTILINE):
        found[line[1]].append((line.start(), min(line.end() + 1, len(text))))
    return found
