"""The behaviours that the rehearsal replaces, as tables of Markdown in docs/fidelity.md.

Each folder of code that replaces a part of AWS has a file `fidelity.yaml`. Its entries name the
behaviour in AWS, the one in the rehearsal, the source, its certainty and the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from tools.marked_part import with_part

ROOT = Path(__file__).parents[1]
FILE = "fidelity.yaml"
FOLDERS = {"embedded AWS": "embedded_aws", "platform": "slurmpod/rehearsal"}
"""The folder whose files a part of the page is generated from, by the name of the part."""

HEADER = """\
| in AWS | in the rehearsal | certainty | source | missing, or not compared | tests |
|---|---|---|---|---|---|"""

Text = Annotated[str, Field(min_length=1)]


class Entry(BaseModel):
    """One behaviour; `sure` uses the terms of the platform's profiles."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: Text
    here: Text
    source: Text
    sure: Literal["certain", "likely", "doubtful", "rehearsal"]
    open: str = ""
    tests: Annotated[tuple[Text, ...], Field(min_length=1)]


class Behaviours(BaseModel):
    """The entries of one folder, under a title."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Text
    entries: Annotated[tuple[Entry, ...], Field(min_length=1)]


def behaviours(part: str) -> Sequence[Behaviours]:
    """Read the files of a part, in the order of their folders."""
    files = sorted((ROOT / FOLDERS[part]).rglob(FILE), key=lambda file: file.parent)
    return [Behaviours.model_validate(yaml.safe_load(file.read_text("utf-8"))) for file in files]


def with_behaviours(page: str) -> str:
    """Return a page with the text between the marks of each part regenerated."""
    for part in FOLDERS:
        begin = f"<!-- {part}: generated from its files {FILE} by `make golden` -->"
        end = f"<!-- end of {part} -->"
        tables = "\n".join(_tables(part))
        page = with_part(page, begin, end, f"\n\n{tables}\n")
    return page


def _tables(part: str) -> Iterator[str]:
    for each in behaviours(part):
        yield f"### {each.title}\n"
        yield HEADER
        yield from map(_row, each.entries)
        yield ""


def _row(entry: Entry) -> str:
    tests = ", ".join(f"`{test.removeprefix('tests/')}`" for test in entry.tests)
    cells = (entry.what, entry.here, entry.sure, entry.source, entry.open, tests)
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"
