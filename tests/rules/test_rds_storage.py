"""The storage of a new database server, at the end of what RDS has."""

from __future__ import annotations

import pytest

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
