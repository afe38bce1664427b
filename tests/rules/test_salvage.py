"""Rules speak about a file with mistakes of form, as far as they can."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.model.loader import load_text
from slurmpod.rules.check import check

DEV = (Path(__file__).parents[2] / "environments/dev.yaml").read_text()


def found(text: str) -> list[tuple[str, int]]:
    return [(problem.rule, problem.where.line) for problem in check(load_text("e.yaml", text))]


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), start=1) if part in line)


def test_a_misspelt_key_does_not_hide_what_rules_find_elsewhere() -> None:
    text = DEV.replace("capacity_gib: 1200", "capacity_gib: 1300").replace("count: 2", "cuont: 2")
    assert found(text) == [
        ("STO-001", line_of(text, "1300")),
        ("ENV-003", line_of(text, "cuont")),
    ]


def test_a_misspelt_key_is_not_reported_as_a_missing_one_too() -> None:
    text = DEV.replace("partition: cpu", "partiton: cpu")
    assert found(text) == [("ENV-003", line_of(text, "partiton"))]


@pytest.mark.parametrize("lost", ["region: us-west-2\n", "zone: us-west-2b"])
def test_without_what_everything_needs_rules_are_silent(lost: str) -> None:
    text = DEV.replace("capacity_gib: 1200", "capacity_gib: 1300").replace(lost, "\n")
    rules = {rule for rule, _ in found(text)}
    assert rules <= {"ENV-002", "ENV-004"}
    assert rules


def test_a_wrong_name_or_type_does_not_hide_what_rules_find_elsewhere() -> None:
    text = (
        DEV.replace("name: dev", f"name: {'a' * 64}")
        .replace("capacity_gib: 1200", "capacity_gib: 1300")
        .replace("instance_type: ml.m5.xlarge", "instance_type: m5.xlarge")
    )
    assert found(text) == [
        ("ENV-004", line_of(text, "name: aaa")),
        ("STO-001", line_of(text, "1300")),
        ("ENV-004", line_of(text, "m5.xlarge")),
    ]
