"""Each rule has a good script without any problem and a bad one that says where it breaks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slurmpod.jobs.lint import all_rules, lint
from tests.pure.jobs.cluster import LIMITS, resolved_cluster

EXAMPLES = Path(__file__).parents[2] / "cases" / "job_examples"
MARK = re.compile(r"# <- (JOB-\d{3})$")

NEEDS_MORE_THAN_A_SCRIPT = {"JOB-001", "JOB-025"}
"""A script that cannot be read, by us or by bash: see test_job_command."""

RULE_IDS = [rule.id for rule in all_rules() if rule.id not in NEEDS_MORE_THAN_A_SCRIPT]
RESOLVED = resolved_cluster()
LIMITED = resolved_cluster(LIMITS)
OF_RULES = {
    "JOB-047": resolved_cluster(login=True),
    **dict.fromkeys(("JOB-053", "JOB-054", "JOB-055", "JOB-065"), LIMITED),
}
"""The cluster of a rule's examples, where it is another one."""


def text_of(rule_id: str, name: str) -> str:
    """Return the text as it is: with the line ends that it has."""
    return (EXAMPLES / rule_id / f"{name}.sbatch").read_bytes().decode()


def marked(text: str) -> list[tuple[str, int]]:
    lines = enumerate(text.splitlines(), start=1)
    return [(mark[1], number) for number, line in lines if (mark := MARK.search(line))]


def found(rule_id: str, text: str) -> list[tuple[str, int]]:
    resolved = OF_RULES.get(rule_id, RESOLVED)
    return [(problem.rule, problem.where.line) for problem in lint("x", text, resolved)]


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_the_good_example_has_no_problem(rule_id: str) -> None:
    assert found(rule_id, text_of(rule_id, "good")) == []


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_the_bad_example_has_the_marked_problems_and_no_others(rule_id: str) -> None:
    text = text_of(rule_id, "bad")
    assert rule_id in {marked_id for marked_id, _ in marked(text)}
    assert found(rule_id, text) == marked(text)


def test_there_are_no_examples_without_a_rule() -> None:
    assert sorted(folder.name for folder in EXAMPLES.iterdir()) == sorted(RULE_IDS)


def test_no_two_rules_have_the_same_id() -> None:
    ids = [rule.id for rule in all_rules()]
    assert sorted(set(ids)) == sorted(ids)
