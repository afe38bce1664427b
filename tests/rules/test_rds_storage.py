"""The storage and the class of a new database server, at the end of what RDS has."""

from __future__ import annotations

import json
from pathlib import Path

import cfnlint  # type: ignore[import-untyped]
import pytest

from slurmpod.problems import Severity
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from slurmpod.rules.rds import SIZES
from tests.sound_environment import SOUND


@pytest.mark.parametrize(
    ("storage_gib", "fix"), [(59_000, "write 64900 or more"), (60_000, "write less storage_gib")]
)
def test_what_to_write_is_something_that_can_be_written(storage_gib: int, fix: str) -> None:
    rds = f"{{storage_gib: {storage_gib}, max_storage_gib: 60000}}"
    found = check(read_as("environment.yaml", f"{SOUND}slurm: {{rds: {rds}}}\n"))
    assert [each.fix for each in found if each.rule == "RDS-003"] == [fix]


OF_ENGINES_BEFORE_10_11 = {"m3", "m4", "r3", "r4", "t2"}


def test_the_classes_are_those_of_the_price_lists() -> None:
    folder = Path(cfnlint.__file__).parent / "data/schemas/extensions/aws_rds_dbinstance"
    listed: dict[str, set[str]] = {}
    for region in json.loads((folder / "dbinstanceclass_enum.json").read_text()).values():
        for case in region["allOf"]:
            if case["if"]["properties"]["Engine"].get("const") != "mariadb":
                continue
            for name in case["then"]["properties"]["DBInstanceClass"]["enum"]:
                _, family, size = name.split(".")
                listed.setdefault(family, set()).add(size)
    ours = {family: set(sizes) for family, sizes in SIZES.items()}
    assert ours == {
        family: sizes for family, sizes in listed.items() if family not in OF_ENGINES_BEFORE_10_11
    }


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("db.m7g.16xlarge", []),
        ("db.m7g.24xlarge", [("RDS-010", Severity.ERROR)]),
        ("db.p5.48xlarge", [("RDS-010", Severity.ERROR)]),
        ("db.m10g.large", [("RDS-013", Severity.WARNING)]),
    ],
)
def test_only_a_class_of_a_newer_family_may_be_there(
    name: str, found: list[tuple[str, Severity]]
) -> None:
    problems = check(read_as("e.yaml", f"{SOUND}slurm: {{rds: {{instance_class: {name}}}}}\n"))
    assert [
        (each.rule, each.severity) for each in problems if each.rule in {"RDS-010", "RDS-013"}
    ] == found
