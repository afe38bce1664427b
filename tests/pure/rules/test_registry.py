from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.problems import Severity
from slurmpod.rules import areas
from slurmpod.rules.areas import AREAS, all_rules, rule_by_id
from slurmpod.rules.registry import Area, Rule


def add(area: Area, rule_id: str) -> None:
    area.rule(rule_id, "Title", why="Why.", fix="fix", source="https://example.com")(lambda *_: [])


def test_two_rules_cannot_share_an_id() -> None:
    area = Area("NET", "Network")
    add(area, "NET-001")
    with pytest.raises(ValueError, match="NET-001"):
        add(area, "NET-001")


@pytest.mark.parametrize("wrong", ["CLU-001", "NET-1", "NET-0001", "NET-abc", "NET001", "net-001"])
def test_an_id_has_the_prefix_of_its_area_and_three_digits(wrong: str) -> None:
    with pytest.raises(ValueError, match="NET-000"):
        add(Area("NET", "Network"), wrong)


def test_rules_keep_the_order_of_their_definition() -> None:
    area = Area("NET", "Network")
    for number in (3, 1, 2):
        add(area, f"NET-00{number}")
    assert [rule.id for rule in area.rules] == ["NET-003", "NET-001", "NET-002"]


def test_areas_have_different_prefixes() -> None:
    assert len({area.prefix for area in AREAS}) == len(AREAS)


def test_a_rule_is_found_in_whatever_case_its_id_is_typed() -> None:
    rule = rule_by_id("net-003")
    assert rule is not None
    assert rule.id == "NET-003"
    assert rule_by_id("NET-999") is None


@pytest.mark.parametrize("rule", list(all_rules()), ids=lambda rule: rule.id)
def test_every_rule_says_what_it_demands_why_and_where_that_is_written(rule: Rule) -> None:
    assert rule.title[0].isupper()
    assert not rule.title.endswith(".")
    assert rule.why.endswith(".")
    assert rule.fix[0].islower()
    assert rule.severity in Severity
    assert rule.source.startswith(("https://", "slurmpod/", "lifecycle_scripts/", "environments/"))


def test_every_module_with_an_area_is_listed_once() -> None:
    folder = Path(areas.__file__).parent
    with_area = {file.stem for file in folder.glob("*.py") if " = Area(" in file.read_text()}
    assert sorted(areas.MODULES) == sorted(with_area)
    assert len(set(map(id, AREAS))) == len(AREAS)
