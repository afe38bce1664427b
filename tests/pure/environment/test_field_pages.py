"""The pages in docs/fields have every field, and are as fresh as what they are made of."""

from __future__ import annotations

import re
from importlib.metadata import version

from slurmpod.environment.descriptions import all_sections
from tests.golden_files import ROOT, assert_matches
from tools.field_pages import field_pages
from tools.handbook import pages_of
from tools.sections import place, told_sections

FOLDER = ROOT / "docs" / "fields"
FIRST = "0.1.0"


def test_the_pages_of_fields_are_fresh(update_golden: bool) -> None:
    pages = field_pages(version("slurmpod"), pages_of(FOLDER))
    assert set(pages_of(FOLDER)) <= set(pages)
    for name, text in pages.items():
        assert_matches(FOLDER / name, text, update=update_golden)


def test_every_field_is_told_once() -> None:
    text = "".join(field_pages(FIRST, {}).values())
    headings = [line.strip("# `") for line in text.splitlines() if re.match("#+ `", line)]
    fields = [place(field.path) for told in told_sections() for field in told.fields]
    assert len(fields) == sum(len(vars(each)["__annotations__"]) for each in all_sections())
    assert set(fields) <= set(headings)
    assert len(headings) == len(set(headings))
    assert "It has the fields of [`storage.lustre`](storage.md#storagelustre), but for" in text


def test_a_field_says_what_there_is_to_know() -> None:
    page = field_pages(FIRST, {})["storage.md"]
    entry = page.split("### `storage.lustre.capacity_gib`\n")[1].split("\n#")[0]
    assert "- Values: a whole number of at least 1200\n- Unit: GiB\n- Default: `1200`\n" in entry
    assert "- Since: 0.1.0\n- A change: **in place**. The file system is slower" in entry
    assert "A smaller value: **refused**. FSx refuses: a file system cannot shrink." in entry
    assert "- Example: `capacity_gib: 1200`, in [dev.yaml](../../environments/dev.yaml)\n" in entry


def test_every_field_but_sections_has_an_example() -> None:
    text = "".join(field_pages(FIRST, {}).values())
    entries = text.split("\n### `")[1:]
    assert [each.split("`")[0] for each in entries if "\n- Example: " not in each] == []


def test_a_default_that_others_decide_is_in_its_line() -> None:
    page = field_pages(FIRST, {})["storage.md"]
    entry = page.split("### `storage.openzfs.iops`\n")[1].split("\n#")[0]
    assert "\nProvisioned SSD operations per second.\n" in entry
    assert "- Default: 3 for each GiB\n" in entry


def test_a_field_keeps_the_version_with_which_it_came() -> None:
    known = field_pages(FIRST, {})
    without = known["budget.md"].replace("### `budget.emails`", "### `budget.other`")
    later = field_pages("0.2.0", {**known, "budget.md": without})
    assert later["network.md"] == known["network.md"]
    assert later["budget.md"].count("- Since: 0.1.0\n") == 4
    assert later["budget.md"].split("### `budget.emails`")[1].count("- Since: 0.2.0\n") == 1
