"""The storage and the class of a new database server, at the end of what RDS has."""

from __future__ import annotations

import pytest

from slurmpod.problems import Severity
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from tests.sound_environment import SOUND


@pytest.mark.parametrize(
    ("storage_gib", "fix"), [(59_000, "write 64900 or more"), (60_000, "write less storage_gib")]
)
def test_what_to_write_is_something_that_can_be_written(storage_gib: int, fix: str) -> None:
    rds = f"{{storage_gib: {storage_gib}, max_storage_gib: 60000}}"
    found = check(read_as("environment.yaml", f"{SOUND}slurm: {{rds: {rds}}}\n"))
    assert [each.fix for each in found if each.rule == "RDS-003"] == [fix]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("db.m7g.16xlarge", []),
        ("db.m7g.24xlarge", [("RDS-013", Severity.WARNING)]),
        ("db.m7g.big", [("RDS-010", Severity.ERROR)]),
        ("db.p5.48xlarge", [("RDS-010", Severity.ERROR)]),
        ("db.m10g.large", [("RDS-013", Severity.WARNING)]),
    ],
)
def test_only_a_class_that_is_newer_may_be_there(
    name: str, found: list[tuple[str, Severity]]
) -> None:
    problems = check(read_as("e.yaml", f"{SOUND}slurm: {{rds: {{instance_class: {name}}}}}\n"))
    assert [
        (each.rule, each.severity) for each in problems if each.rule in {"RDS-010", "RDS-013"}
    ] == found
