from __future__ import annotations

import json

import pytest

from slurmpod.problems import (
    InvalidEnvironment,
    Problem,
    Severity,
    Where,
    first_of,
    format_path,
    has_errors,
    in_file_order,
)


def problem(rule: str = "NET-001", line: int = 1, severity: Severity = Severity.ERROR) -> Problem:
    return Problem(rule, severity, Where("dev.yaml", line, 3, "name"), "wrong", "mend it")


def test_a_place_is_written_as_editors_read_it() -> None:
    assert str(Where("environments/dev.yaml", 12, 5)) == "environments/dev.yaml:12:5"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("name",), "name"),
        (("cluster", "groups", 2, "count"), "cluster.groups[2].count"),
        ((0, 1, "a"), "[0][1].a"),
    ],
)
def test_paths_are_written_as_people_say_them(path: tuple[str | int, ...], text: str) -> None:
    assert format_path(path) == text


def test_a_warning_alone_stops_nothing() -> None:
    warning = problem(severity=Severity.WARNING)
    assert not has_errors([])
    assert not has_errors([warning])
    assert has_errors([warning, problem()])


def test_problems_are_sorted_by_place_then_by_rule() -> None:
    late, early = problem(line=10), problem(line=9)
    same_line = problem("CLU-001", line=10)
    assert in_file_order([late, same_line, early]) == (early, same_line, late)


def test_a_problem_is_data_for_programs() -> None:
    assert json.loads(json.dumps(problem().as_dict())) == {
        "rule": "NET-001",
        "severity": "error",
        "where": {"file": "dev.yaml", "line": 1, "column": 3, "path": "name"},
        "message": "wrong",
        "fix": "mend it",
    }


def test_an_invalid_environment_brings_all_its_problems() -> None:
    assert InvalidEnvironment([problem(), problem("NET-002")]).problems == (
        problem(),
        problem("NET-002"),
    )


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a", "b"], "a, b"), (["a", "b", "c", "d"], "a, b and 2 more")]
)
def test_of_many_names_only_the_first_are_said(names: list[str], text: str) -> None:
    assert first_of(names, 2) == text
