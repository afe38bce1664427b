"""In a file with mistakes of form a rule is heard if no section that it reads has one."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading, read, read_as
from slurmpod.rules.check import ALL_RULES, apply, check
from slurmpod.rules.registry import Rule
from tests.environment_files import FILES
from tests.pure.reading.test_phrases import FULL
from tests.pure.rules.test_cases import MARK, OF_MODULES, OF_RULES, with_head, write_files
from tests.pure.rules.watching import Watch
from tests.sound_environment import sound_and, sound_data

CHOSEN_BY_THE_FIRST = {"CAP-002", "PRO-003"}
"""What is wrong only with the defaults of the first edition: a minimum, and a strategy."""

GO_THROUGH_ALL = ("ARN-", "NEW-")
"""They judge each value of any section by itself: no mistake elsewhere changes what they find."""

A_MISTAKE = 2.5
"""What no section takes."""

ELSEWHERE = (
    sound_and(account="210987654321", region="cn-north-1"),
    sound_and(region="us-gov-west-1"),
)
"""Other accounts and parts of AWS than those of the cases."""


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Reading]]:
    """Return the cases of each module of rules that have no mistakes of form."""
    folder = tmp_path_factory.mktemp("cases")
    write_files(folder)
    return {
        module: [
            reading
            for rule_id, cases in of_rules.items()
            for name, text in (("bad", cases.bad), ("good", cases.good))
            if (reading := read_case(folder / rule_id / f"{name}.yaml", text)).environment
        ]
        for module, of_rules in OF_MODULES.items()
    }


def read_case(file: Path, text: str) -> Reading:
    return read_as(str(file), MARK.sub("", with_head(text)))


def test_rules_declare_the_sections_that_they_read(readings: dict[str, list[Reading]]) -> None:
    examples = [read(file) for file in FILES.values()]
    watch = Watch([sound_and(), *chain(*readings.values()), *examples, *ELSEWHERE])
    read_by: dict[str, set[str]] = defaultdict(set)
    for module, of_module in readings.items():
        rules = [rule for rule in ALL_RULES if rule.id in OF_MODULES[module]]
        for reading in (*of_module, *examples):
            resolved = watch.resolve(reading)
            for rule in rules:
                watch.seen.clear()
                apply(rule, resolved, reading.source)
                read_by[rule.id] |= watch.seen
    undeclared = {
        rule.id: sections
        for rule in ALL_RULES
        if (sections := read_by[rule.id] - {*rule.reads}) and not rule.id.startswith(GO_THROUGH_ALL)
    }
    assert undeclared == {}


@pytest.mark.parametrize(
    "rule", [rule for rule in ALL_RULES if rule.id.startswith(GO_THROUGH_ALL)], ids=lambda r: r.id
)
def test_who_goes_through_all_sections_judges_each_by_itself(rule: Rule) -> None:
    reading = read_case(Path("bad.yaml"), OF_RULES[rule.id].bad)
    found = places(reading, rule)
    sections = {path.partition(".")[0] for path in found}
    others = Environment.model_fields.keys() - {*sections, *rule.reads, "suppress"}
    broken = {**reading.source.data, **dict.fromkeys(others, A_MISTAKE)}
    assert places(read_as("bad.yaml", json.dumps(broken)), rule) == found


def places(reading: Reading, rule: Rule) -> set[str]:
    """Return where a rule finds something."""
    return {each.where.path for each in check(reading, [rule]) if each.rule == rule.id}


@pytest.mark.parametrize("rule", ["STO-001", "END-006"])
def test_a_rule_is_silent_where_a_section_that_it_reads_has_a_mistake(rule: str) -> None:
    (found,) = (each for each in ALL_RULES if each.id == rule)
    data = read_case(Path("bad.yaml"), OF_RULES[rule].bad).source.data
    for section in Environment.model_fields:
        broken = read_as("bad.yaml", json.dumps({**data, section: A_MISTAKE}))
        assert bool(places(broken, found)) == (section not in found.reads)


def found_in(data: dict[str, Any]) -> set[str]:
    return {problem.rule for problem in check(read_as("full.yaml", json.dumps(data)))}


@pytest.fixture(scope="module")
def whole() -> set[str]:
    return found_in(FULL)


def test_what_a_mistyped_edition_would_have_chosen_is_not_guessed() -> None:
    head, workers = sound_data()["cluster"]["groups"]
    cluster = {"groups": [head, {**workers, "min_count": 1}]}
    data = {**sound_data(), "cluster": cluster, "slurm": {"config_strategy": "Merge"}}
    assert found_in(data) >= CHOSEN_BY_THE_FIRST
    assert found_in({**data, "edition": 2025}).isdisjoint(CHOSEN_BY_THE_FIRST)


@pytest.mark.parametrize("name", FULL)
def test_a_broken_section_adds_no_finding(name: str, whole: set[str]) -> None:
    assert found_in({**FULL, name: A_MISTAKE}) - whole <= {"ENV-004"}
