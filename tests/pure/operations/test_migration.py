"""Moves without a way back: which one a file asks for, what is in its way, and what stayed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from slurmpod.aws.cluster import Node
from slurmpod.cli.diff import follows
from slurmpod.operations.deployed import Deployed
from slurmpod.operations.difference import Difference
from slurmpod.operations.migration.live import nodes_in_the_way
from slurmpod.operations.migration.moves import (
    API_DRIVEN,
    CONTINUOUS,
    RECORDS,
    Move,
    moves_in,
    others,
    strategy_in_the_way,
)
from slurmpod.operations.migration.picture import (
    Picture,
    compared,
    picture_script,
    read_picture,
)
from slurmpod.operations.migration.records import LOGIN, OtherDatabase, copy_script
from slurmpod.reading.read import Reading
from slurmpod.resolve import resolve
from tests.golden_files import ROOT, assert_matches
from tests.nodes.migrate_table import page_with_table
from tests.pure.changes.comparing import between, changed, environment
from tests.sound_environment import sound_data

CUSTOMER, EXTENDED = ({"lifecycle": {"mode": mode}} for mode in ("customer", "extended"))

ARN = "arn:aws:secretsmanager:us-west-2:123456789012:secret:records-a1b2c3"
OUTSIDE = {"slurm": {"accounting_database": {"endpoint": "records.example.com", "secret_arn": ARN}}}


def provisioned(how: str, mode: str = "extended") -> dict[str, Any]:
    cluster = {**sound_data()["cluster"], "provisioning": how}
    return {"cluster": cluster, "lifecycle": {"mode": mode}}


@pytest.mark.parametrize(
    ("old", "new", "moves"),
    [
        (CUSTOMER, EXTENDED, (API_DRIVEN,)),
        (CUSTOMER, {"lifecycle": {"mode": "managed"}}, (API_DRIVEN,)),
        (EXTENDED, CUSTOMER, ()),
        (EXTENDED, {"lifecycle": {"mode": "managed"}}, ()),
        (provisioned("standard"), provisioned("continuous"), (CONTINUOUS,)),
        (provisioned("continuous"), provisioned("standard"), ()),
        (provisioned("standard", "customer"), provisioned("continuous"), (API_DRIVEN, CONTINUOUS)),
        ({}, OUTSIDE, (RECORDS,)),
        (OUTSIDE, {}, ()),
    ],
)
def test_a_file_asks_for_a_move_by_the_field(
    old: dict[str, Any], new: dict[str, Any], moves: tuple[Move, ...]
) -> None:
    assert moves_in(between(old, new)) == moves


def test_diff_names_the_command_of_a_move() -> None:
    old, new = (resolve(Reading(environment(**each))) for each in (CUSTOMER, EXTENDED))
    for wanted, command in ((new, "migrate"), (old, "status")):
        deployed = Deployed({"name": "dev"}, ("dev-cluster",), has_cluster=True)
        assert follows(Difference(wanted, deployed, changed(old, wanted))) == command


def test_only_what_belongs_to_a_move_is_made_with_it() -> None:
    strategy = {"slurm": {"config_strategy": "Merge"}}
    assert others(API_DRIVEN, between(CUSTOMER, {**EXTENDED, **strategy})) == ()
    for more in ({"tags": {"team": "vision"}}, provisioned("continuous")):
        (change,) = others(API_DRIVEN, between(CUSTOMER, {**EXTENDED, **more}))
        assert change.path in {"tags", "cluster.provisioning"}


@pytest.mark.parametrize(
    ("move", "before", "after", "jobs", "is_refused"),
    [
        (API_DRIVEN, None, None, True, True),
        (API_DRIVEN, None, "Managed", True, True),
        (API_DRIVEN, None, "Merge", True, False),
        (API_DRIVEN, None, None, False, False),
        (CONTINUOUS, "Merge", None, True, False),
        (CONTINUOUS, None, None, True, False),
        (CONTINUOUS, "Overwrite", None, False, True),
    ],
)
def test_a_strategy_that_may_touch_jobs_is_in_the_way(
    move: Move, before: str | None, after: str | None, *, jobs: bool, is_refused: bool
) -> None:
    assert bool([*strategy_in_the_way(move, before, after, jobs=jobs)]) == is_refused


def test_in_customer_mode_records_do_not_come_along() -> None:
    for customer in (True, False):
        reasons = [*strategy_in_the_way(RECORDS, None, None, jobs=True, customer=customer)]
        assert bool(reasons) == customer


def test_no_password_and_no_name_gets_loose_in_the_shell() -> None:
    odd = OtherDatabase("db.example.com", 3306, "a'b", ARN, "it's")
    script = copy_script(odd)
    assert subprocess.run(["bash", "-n", "-c", script], check=False).returncode == 0
    assert "--password" not in script


@pytest.mark.parametrize("password", ["plain", "it's #1", 'quo"te', "back\\slash"])
def test_mariadbs_programs_read_the_login_as_it_is_in_the_secret(password: str) -> None:
    secret = json.dumps({"username": "keeper", "password": password})
    made = subprocess.run(
        [sys.executable, "-c", LOGIN, "db.example.com", "3306", "admin"],
        input=secret,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert made[:4] == ["[client]", "host=db.example.com", "port=3306", 'user="keeper"']
    written = made[4].removeprefix('password="').removesuffix('"')
    assert written.replace("\\\\", "\\") == password


def test_nodes_with_an_old_image_or_that_do_not_run_are_in_the_way() -> None:
    new, old = datetime(2026, 2, 1, tzinfo=UTC), datetime(2025, 12, 1, tzinfo=UTC)
    node = Node("workers", "i-1", "ml.m5.large", "Running", "ip-10-0-0-4", launched=new)
    assert [*nodes_in_the_way(API_DRIVEN, [node])] == []
    aged = replace(node, launched=old)
    assert [*nodes_in_the_way(API_DRIVEN, [replace(aged, updated=new)])] == []
    (reason,) = nodes_in_the_way(API_DRIVEN, [node, aged])
    assert "slurmpod patch" in reason
    assert [*nodes_in_the_way(CONTINUOUS, [aged])] == []
    (reason,) = nodes_in_the_way(RECORDS, [node])
    assert "August 2026" in reason
    (reason,) = nodes_in_the_way(CONTINUOUS, [replace(node, status="Pending")])
    assert "ip-10-0-0-4 (Pending)" in reason


BEFORE = Picture(
    jobs={"3": ["RUNNING", "9:00"], "4": ["RUNNING", "9:01"], "5": ["PENDING", "N/A"]},
    steps={"3.0": ["9:00"]},
    records=7,
    associations=("life|default|alice|urgent",),
    people=("alice:20001",),
    nodes=("ip-10-0-0-4", "ip-10-0-0-5"),
)


def lost(after: Picture) -> dict[str, tuple[str, ...]]:
    return {row.what: row.lost for row in compared(BEFORE, after) if row.lost}


def test_what_is_there_as_before_is_not_lost() -> None:
    assert lost(BEFORE) == {}
    assert Picture.of(BEFORE.as_data()) == BEFORE


def test_a_job_that_came_to_its_end_is_not_lost_and_one_that_waited_may_run() -> None:
    after = replace(
        BEFORE,
        jobs={"4": ["RUNNING", "9:01"], "5": ["RUNNING", "9:30"]},
        steps={},
        records=8,
        ends={"3": "COMPLETED"},
    )
    assert lost(after) == {}
    assert compared(BEFORE, after)[0].after == "1 continue, 1 ended"


@pytest.mark.parametrize(
    ("change", "what", "told"),
    [
        ({"jobs": {**BEFORE.jobs, "3": ["RUNNING", "9:30"]}}, "running jobs", "started again"),
        ({"jobs": {**BEFORE.jobs, "3": ["PENDING", "N/A"]}}, "running jobs", "started again"),
        ({"steps": {"3.0": ["9:30"]}}, "running steps", "3.0"),
        ({"records": 6}, "records of ended jobs", "1 records"),
        ({"associations": ()}, "accounts, users and their QOS", "life|default|alice|urgent"),
        ({"people": ()}, "people on the controller", "alice:20001"),
        ({"nodes": ("ip-10-0-0-4",)}, "nodes by their names", "ip-10-0-0-5"),
    ],
)
def test_what_is_gone_or_began_anew_is_lost(change: dict[str, Any], what: str, told: str) -> None:
    ((row, (text,)),) = lost(replace(BEFORE, **change)).items()
    assert row == what
    assert told in text


def test_jobs_that_failed_or_are_unknown_are_lost() -> None:
    after = replace(BEFORE, jobs={"4": ["RUNNING", "9:01"]}, ends={"3": "NODE_FAIL"})
    assert lost(after) == {
        "running jobs": ("job 3 (NODE_FAIL)",),
        "jobs in the queue": ("job 5 (unknown)",),
    }


def test_the_controllers_answers_become_a_picture() -> None:
    answers = {
        "jobs": "3|RUNNING|9:00\n4|RUNNING|9:01\n5|PENDING|N/A\n",
        "steps": "3.0|9:00\n",
        "records": "7\n",
        "associations": "life|default|alice|urgent\n",
        "people": "alice:20001\n",
        "nodes": "ip-10-0-0-5\nip-10-0-0-4\nip-10-0-0-4\n",
        "ends": "3|CANCELLED by 1000\n",
    }
    assert read_picture(answers) == replace(BEFORE, ends={"3": "CANCELLED"})


def test_without_accounting_nothing_is_asked_of_it() -> None:
    assert "sacct" not in picture_script(accounting=False, ended=["3"])
    assert "--jobs=3,4" in picture_script(accounting=True, ended=["4", "3"])


def test_the_page_has_the_table_of_the_tests(update_golden: bool) -> None:
    page = ROOT / "docs" / "migrate.md"
    assert_matches(page, page_with_table(page.read_text()), update=update_golden)
