"""Each rule has a good example without any problem and a bad one that says where it breaks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slurmpod.reading.read import read
from slurmpod.rules.areas import all_rules
from slurmpod.rules.check import check

EXAMPLES = Path(__file__).parent / "examples"
MARK = re.compile(r"# <- (\w{3}-\d{3}(?:, \w{3}-\d{3})*)$")

NEED_MORE_THAN_A_FILE = {"ENV-005", "ENV-008", "RUL-001"}
"""Two files that clash, and a mistake of our own: see test_check."""

RULE_IDS = [rule.id for rule in all_rules() if rule.id not in NEED_MORE_THAN_A_FILE]


def marked(file: Path) -> list[tuple[str, int]]:
    """Return rule and line of every `# <- NET-003` in the file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [
        (rule_id, number)
        for number, line in enumerate(lines, start=1)
        if (mark := MARK.search(line))
        for rule_id in mark.group(1).split(", ")
    ]


def found(file: Path) -> list[tuple[str, int]]:
    return [(problem.rule, problem.where.line) for problem in check(read(file))]


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_the_good_example_has_no_problem(rule_id: str) -> None:
    assert check(read(EXAMPLES / rule_id / "good.yaml")) == ()


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_the_bad_example_has_the_marked_problems_and_no_others(rule_id: str) -> None:
    file = EXAMPLES / rule_id / "bad.yaml"
    assert rule_id in {marked_id for marked_id, _ in marked(file)}
    assert sorted(found(file)) == sorted(marked(file))


def test_there_are_no_examples_without_a_rule() -> None:
    assert sorted(folder.name for folder in EXAMPLES.iterdir()) == sorted(RULE_IDS)
