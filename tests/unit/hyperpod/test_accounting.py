from types import SimpleNamespace
from typing import Any

import pytest

from embedded_aws.cluster import AccountingDatabase, ClusterFailed
from slurmpod.rehearsal.hyperpod.accounting import (
    LOCAL_STORAGE,
    Storage,
    slurmdbd_conf,
    storage_of,
)

DATABASE = AccountingDatabase("db.example", 3307, "records", "arn:secret")


def gateway(secret: str) -> Any:
    return SimpleNamespace(secret=lambda _arn: secret)


def test_records_stay_on_the_controller_unless_a_database_is_named() -> None:
    assert storage_of(gateway(""), None) is LOCAL_STORAGE
    assert b"StoragePass" not in slurmdbd_conf(LOCAL_STORAGE)


def test_the_secret_tells_who_connects_to_the_database() -> None:
    storage = storage_of(gateway('{"username": "slurm", "password": "p"}'), DATABASE)
    assert storage == Storage("db.example", 3307, "records", "slurm", "p")


@pytest.mark.parametrize("secret", ["", "p", "[]", "{}", '{"username": "slurm"}'])
def test_a_secret_of_another_kind_fails_the_cluster(secret: str) -> None:
    with pytest.raises(ClusterFailed, match="arn:secret is not JSON with username and password"):
        storage_of(gateway(secret), DATABASE)


def test_a_password_may_have_what_slurm_would_take_for_a_comment() -> None:
    lines = slurmdbd_conf(Storage("h", 1, "n", "u", "a#b c\\")).decode().splitlines()
    assert r'StoragePass="a\#b c\\"' in lines
