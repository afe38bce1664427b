"""The environment's users in Slurm's accounting database."""

from __future__ import annotations

from dataclasses import replace

from slurmpod_lifecycle.sacctmgr import Row
from slurmpod_lifecycle.settings import Account, Association, User
from slurmpod_lifecycle.steps.associations import Change, people_plan
from tests.pure.lifecycle.people import ALICE, BOB

HERE = "cluster=dev"
PLAIN = {"Fairshare": "1", "QOS": ["normal"], "DefaultQOS": "normal"}
RESEARCH = Account("research", "", {"QOS": ["normal"], "DefaultQOS": "normal"})
TEACHING = replace(RESEARCH, name="teaching")
SHOWN: Row = {
    "Account": "research",
    "User": "alice",
    "Fairshare": "2",
    "QOS": "normal",
    "DefaultQOS": "normal",
    "MaxSubmitJobs": "",
}
ENTRY: Row = {"User": "alice", "DefaultAccount": "research", "AdminLevel": "Administrator"}


def planned(
    *users: User,
    former: tuple[str, ...] = (),
    shown: tuple[Row, ...] = (SHOWN,),
    entries: tuple[Row, ...] = (ENTRY,),
) -> list[Change]:
    accounts = [RESEARCH, TEACHING]
    return people_plan(users, frozenset(former), accounts, shown, entries, HERE)


def test_a_new_user_gets_everything_at_once() -> None:
    assert planned(ALICE, shown=(), entries=()) == [
        ("add", "user", "alice", HERE, "Account=research", "DefaultAccount=research"),
        ("modify", "user", "where", "name=alice", "account=research", HERE, "set", "Fairshare=2"),
        ("modify", "user", "where", "name=alice", "set", "AdminLevel=Administrator"),
    ]


def test_nothing_is_changed_that_is_as_it_should_be() -> None:
    assert planned(ALICE) == []
    assert planned(BOB) == []


def test_a_qos_of_ones_own_is_set_once() -> None:
    own = {"Fairshare": "2", "QOS": ["urgent"], "DefaultQOS": "urgent"}
    alice = replace(ALICE, associations=(Association("research", own),))
    (change,) = planned(alice)
    assert change[-2:] == ("DefaultQOS=urgent", "QOS=urgent")
    assert planned(alice, shown=({**SHOWN, "QOS": "urgent", "DefaultQOS": "urgent"},)) == []


def test_an_account_that_a_user_no_longer_has_takes_no_more_jobs() -> None:
    teaching = {**SHOWN, "Account": "teaching"}
    by_hand = {**SHOWN, "Account": "by-hand"}
    closed = ("modify", "user", "where", "name=alice", "account=teaching", HERE)
    assert planned(ALICE, shown=(SHOWN, teaching, by_hand)) == [(*closed, "set", "MaxSubmitJobs=0")]
    assert planned(ALICE, shown=(SHOWN, {**teaching, "MaxSubmitJobs": "0"})) == []


def test_an_account_that_a_user_has_again_takes_jobs_again() -> None:
    (change,) = planned(ALICE, shown=({**SHOWN, "MaxSubmitJobs": "0"},))
    assert change[-1] == "MaxSubmitJobs=-1"
    assert planned(ALICE, shown=({**SHOWN, "MaxSubmitJobs": "50"},)) == []


def test_the_default_account_follows_the_environment() -> None:
    both = (Association("teaching", PLAIN), ALICE.associations[0])
    teaching = {**SHOWN, "Account": "teaching", "Fairshare": "1"}
    (change,) = planned(replace(ALICE, associations=both), shown=(SHOWN, teaching))
    assert change == (
        *("modify", "user", "where", "name=alice", HERE, "set"),
        "DefaultAccount=teaching",
    )


def test_who_is_no_administrator_any_more_is_none() -> None:
    (change,) = planned(replace(ALICE, admin=False))
    assert change == ("modify", "user", "where", "name=alice", "set", "AdminLevel=None")
    operator = {**ENTRY, "AdminLevel": "Operator"}
    assert planned(replace(ALICE, admin=False), entries=(operator,)) == []


def test_who_left_has_closed_accounts_and_no_power_and_is_removed_from_nothing() -> None:
    plan = planned(BOB, former=("alice", "never-in-slurm"))
    assert plan == [
        (
            *("modify", "user", "where", "name=alice", "account=research", HERE, "set"),
            "MaxSubmitJobs=0",
        ),
        ("modify", "user", "where", "name=alice", "set", "AdminLevel=None"),
    ]
    done = ({**SHOWN, "MaxSubmitJobs": "0"},)
    none = ({**ENTRY, "AdminLevel": "None"},)
    assert planned(BOB, former=("alice",), shown=done, entries=none) == []
