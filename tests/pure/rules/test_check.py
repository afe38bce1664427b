from __future__ import annotations

import pytest

from slurmpod.problems import Severity
from slurmpod.reading.read import read_as
from slurmpod.rules import check as check_module
from slurmpod.rules.check import check, check_together
from slurmpod.rules.registry import Finding, Rule
from tests.sound_environment import SOUND, sound_with


def rule_that(judge: object, severity: Severity = Severity.ERROR) -> Rule:
    return Rule("NET-999", "title", "why.", "the rule's fix", "https://x", severity, judge)  # type: ignore[arg-type]


def test_a_sound_environment_has_no_problems() -> None:
    assert check(read_as("dev.yaml", SOUND)) == ()


def test_problems_of_form_are_all_there_is_to_say_about_a_malformed_file() -> None:
    loaded = read_as("dev.yaml", sound_with("region: us-west-2", "region: 5"))
    assert check(loaded) == loaded.problems


def test_a_finding_becomes_a_problem_at_its_place() -> None:
    findings = [
        Finding(("network", "zone"), "at the value"),
        Finding(("network", "zone"), "at the key", "a better fix", at_key=True),
        Finding(("cluster", "groups", 1, "threads_per_core"), "at the group"),
    ]
    rule = rule_that(lambda *_: findings, Severity.WARNING)
    problems = check(read_as("dev.yaml", SOUND), [rule])
    assert [(p.where.line, p.where.column, p.message, p.fix) for p in problems] == [
        (7, 3, "at the key", "a better fix"),
        (7, 9, "at the value", "the rule's fix"),
        (17, 7, "at the group", "the rule's fix"),
    ]
    assert {problem.severity for problem in problems} == {Severity.WARNING}


def test_a_rule_that_crashes_is_a_problem_and_stops_no_other() -> None:
    def crash(*_: object) -> list[Finding]:
        raise ZeroDivisionError("division by zero")

    rules = [rule_that(crash), rule_that(lambda *_: [Finding(("name",), "found")])]
    crashed, found = check(read_as("dev.yaml", SOUND), rules)
    assert (crashed.rule, crashed.severity, crashed.where.file) == (
        "RUL-001",
        Severity.ERROR,
        "dev.yaml",
    )
    assert "NET-999" in crashed.message
    assert "test_check.py" in crashed.message
    assert "division by zero" in crashed.message
    assert found.message == "found"


def test_a_rule_that_crashes_halfway_is_a_problem() -> None:
    def crash_late(*_: object) -> object:
        yield Finding(("name",), "found")
        raise KeyError("late")

    (problem,) = check(read_as("dev.yaml", SOUND), [rule_that(crash_late)])
    assert problem.rule == "RUL-001"


def test_beside_a_mistake_of_form_only_the_given_rules_are_heard_either() -> None:
    loaded = read_as("dev.yaml", sound_with("count: 2", "count: two"))
    tagged = rule_that(lambda resolved: [Finding(("tags",), resolved.environment.name)])
    assert [each.rule for each in check(loaded, [tagged])] == ["NET-999", "ENV-004"]
    assert [each.rule for each in check(loaded, [])] == ["ENV-004"]


def test_an_environment_that_cannot_be_resolved_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(_: object) -> object:
        raise KeyError("instance type")

    monkeypatch.setattr(check_module, "resolve", crash)
    (problem,) = check(read_as("dev.yaml", SOUND))
    assert (problem.rule, "resolve" in problem.message) == ("RUL-001", True)


def test_rules_do_not_change_what_they_judge() -> None:
    loaded = read_as("dev.yaml", SOUND)
    before = loaded.environment.model_dump() if loaded.environment else {}
    assert check(loaded) == check(loaded)
    assert loaded.environment is not None
    assert loaded.environment.model_dump() == before


def test_two_files_cannot_describe_the_same_cluster() -> None:
    one, other = read_as("one.yaml", SOUND), read_as("other.yaml", SOUND)
    (problem,) = check_together([one, other])
    assert (problem.rule, problem.where.file, problem.where.line) == ("ENV-005", "other.yaml", 1)
    assert "one.yaml" in problem.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: dev", "name: prod"),
        ('"123456789012"', '"210987654321"'),
        ("region: us-west-2", "region: us-west-1"),
    ],
)
def test_another_name_account_or_region_is_another_cluster(old: str, new: str) -> None:
    assert not check_together([read_as("a", SOUND), read_as("b", sound_with(old, new))])


def test_the_same_file_given_twice_and_malformed_files_do_not_clash() -> None:
    sound, broken = read_as("dev.yaml", SOUND), read_as("broken.yaml", "name: dev")
    assert not check_together([sound, sound, broken, broken])


def test_entries_that_accept_nothing_are_accepted_as_other_warnings_are() -> None:
    def found(*rules: str) -> list[str]:
        entries = [f"  - {{rule: {rule}, reason: our network team}}\n" for rule in rules]
        loaded = read_as("dev.yaml", f"{SOUND}suppress:\n{''.join(entries)}")
        return [problem.rule for problem in check(loaded)]

    assert found("CLU-009") == ["RUL-003"]
    assert found("CLU-009", "RUL-003") == []
    assert found("RUL-003") == []
    assert found("ABC-999", "RUL-003") == ["RUL-002"]
