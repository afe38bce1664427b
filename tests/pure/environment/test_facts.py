"""The table of facts: whole, dated, and where its values stand once."""

from __future__ import annotations

import re

from slurmpod.environment.facts import FACTS_FILE, fact, facts


def test_every_fact_has_a_date_and_a_source() -> None:
    assert all(re.fullmatch(r"20[0-9]{2}-[01][0-9]", each.as_of) for each in facts().values())
    assert all(each.source for each in facts().values())


def test_a_date_is_shown_as_people_write_it() -> None:
    assert fact("instance_types.zone_ids").when == "July 2026"


def test_every_table_lies_beside_the_facts() -> None:
    tables = [each.table for each in facts().values() if each.table]
    assert len(tables) > 4
    assert all((FACTS_FILE.parent / name).is_file() for name in tables)


def test_values_have_the_form_that_new_ones_may_have() -> None:
    for each in facts().values():
        if each.form:
            assert {v for v in each.values if not re.fullmatch(each.form, v)} == set(), each.name


def test_no_value_is_known_and_left_out() -> None:
    assert all(set(each.values).isdisjoint(each.left_out) for each in facts().values())
