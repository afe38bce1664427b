from __future__ import annotations

from typing import Any

import pytest

from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from slurmpod.resolve.database import database_identifier
from tests.sound_environment import sound_data

SECRET = "arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-AbCdEf"


def resolved(slurm: dict[str, Any], **sections: Any) -> Resolved:
    data = {**sound_data(), "slurm": slurm, **sections}
    return resolve(Reading(Environment.model_validate(data, strict=False)))


def test_records_stay_on_the_controller_unless_somebody_says_otherwise() -> None:
    plain = resolved({})
    assert (plain.database, plain.stacks.database) == (None, None)


def test_a_new_server_has_a_database_that_the_next_cluster_finds_too() -> None:
    database = resolved({"rds": {}}).database
    assert database is not None
    assert database.new is not None
    assert (database.name, database.port, database.user) == ("slurm_acct_db", 3306, "admin")
    assert (database.endpoint, database.secret_arn) == (None, None)
    assert database.new.identifier == "dev-records"


def test_storage_grows_to_twice_its_size_unless_said_otherwise() -> None:
    limits = [
        database.new.max_storage_gib
        for rds in ({"storage_gib": 70}, {"storage_gib": 70, "max_storage_gib": 90})
        if (database := resolved({"rds": rds}).database) and database.new
    ]
    assert limits == [140, 90]


def test_storage_grows_no_larger_than_rds_makes_any() -> None:
    database = resolved({"rds": {"storage_gib": 40_000}}).database
    assert database is not None
    assert database.new is not None
    assert database.new.max_storage_gib == 65_536


def test_a_server_of_the_users_is_taken_as_it_is() -> None:
    given = {"endpoint": "db.example.com", "port": 3307, "secret_arn": SECRET, "name": "acct"}
    database = resolved({"accounting_database": given}).database
    assert database is not None
    assert (database.new, database.requires_tls) == (None, False)
    assert (database.endpoint, database.port, database.name) == ("db.example.com", 3307, "acct")


@pytest.mark.parametrize(
    ("mode", "requires"), [("customer", True), ("extended", False), ("managed", False)]
)
def test_encryption_is_required_where_slurmpod_writes_slurmdbd_conf(
    mode: str, requires: bool
) -> None:
    database = resolved({"rds": {}}, lifecycle={"mode": mode}).database
    assert database is not None
    assert database.requires_tls is requires


def test_every_subnet_has_an_address_for_the_server() -> None:
    zones = {"zone": "us-west-2b", "other_zones": [{"zone": "us-west-2a"}]}
    choices: tuple[dict[str, Any], ...] = ({}, {"rds": {}})
    without, with_server = (
        [subnet.addresses_needed for subnet in resolved(slurm, network=zones).network.private]
        for slurm in choices
    )
    assert with_server == [needed + 1 for needed in without]


@pytest.mark.parametrize(
    "name", ["dev", "a--b", "x" * 63, f"a--{'b' * 60}", f"{'y' * 49}-{'z' * 9}"]
)
def test_names_are_what_rds_takes_and_differ_where_environments_do(name: str) -> None:
    identifier = database_identifier(name)
    assert len(identifier) <= 63
    assert "--" not in identifier
    assert identifier[0].isalpha()
    assert not identifier.endswith("-")
    assert identifier != database_identifier(name.replace("--", "-") + "q")
