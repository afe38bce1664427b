"""Users and groups of a node: made, changed, locked, and never with another's id."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Access, Group, Mode, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.users import RECORD, Users, conflicts, plan, read_known
from tests.pure.lifecycle.fakes import NO_PEOPLE, machine_of, node
from tests.pure.lifecycle.people import ACCESS, ALICE, BOB, GROUP, PASSWD, SHADOW

NOBODY = frozenset[str]()
EMPTY = read_known("root:x:0:0::/root:/bin/sh\n", "", "root:x:0:\n")


def step(access: Access = ACCESS, *, there: bool = False, record: tuple[str, ...] = ()) -> Users:
    step = Users(node(Role.WORKER, access=access))
    files = machine_of(step.node).files
    texts = (PASSWD, SHADOW, GROUP) if there else ("", "", "")
    for name, text in zip(("passwd", "shadow", "group"), texts, strict=True):
        files[f"/etc/{name}"] = text
    if record:
        files[RECORD] = json.dumps(record)
    return step


class TestStep:
    def test_makes_groups_first_and_notes_whom_it_makes(self) -> None:
        users = step()
        assert not users.is_done()
        assert users.apply() == "2 users and 3 groups (6 changes)"
        machine = machine_of(users.node)
        assert [line.split()[0] for line in machine.ran] == [
            *["groupadd"] * 3,
            *["useradd"] * 2,
            "gpasswd",
        ]
        assert json.loads(machine.files[RECORD]) == ["alice", "bob"]

    def test_finds_itself_done_when_nothing_differs(self) -> None:
        assert step(there=True, record=("alice", "bob")).is_done()
        assert not step(there=True).is_done()

    def test_an_id_that_is_taken_is_not_waited_for(self) -> None:
        taken = step(replace(ACCESS, users=(replace(ALICE, uid=20002), BOB)), there=True)
        with pytest.raises(StepFailed, match="alice has the id 20001 on this node") as failure:
            taken.apply()
        assert not isinstance(failure.value, NotYet)
        assert not taken.is_done()
        assert machine_of(taken.node).ran == []

    def test_is_there_for_people_and_for_those_who_left(self) -> None:
        nobody = node(Role.WORKER)
        assert not Users.applies_to(nobody)
        machine_of(nobody).files[RECORD] = '["alice"]'
        assert Users.applies_to(nobody)
        for mode in Mode:
            assert Users.applies_to(node(Role.LOGIN, access=ACCESS, mode=mode))

    def test_who_left_stays_noted(self) -> None:
        users = step(replace(ACCESS, users=(ALICE,)), there=True, record=("alice", "bob"))
        users.apply()
        machine = machine_of(users.node)
        assert "usermod --expiredate 1 --shell /usr/sbin/nologin bob" in machine.ran
        assert json.loads(machine.files[RECORD]) == ["alice", "bob"]


class TestPlan:
    def test_a_user_is_made_as_the_environment_says(self) -> None:
        access = replace(
            NO_PEOPLE, groups=(Group("lab", 30001),), users=(replace(ALICE, groups=()),)
        )
        assert plan(access, EMPTY, NOBODY) == [
            ("groupadd", "--gid", "30001", "lab"),
            (
                *("useradd", "--uid", "20001", "--gid", "30001"),
                *("--no-create-home", "--home-dir", "/fsx/home/alice", "--shell", "/bin/bash"),
                *("--comment", "Alice Example", "--no-log-init", "alice"),
            ),
        ]

    @pytest.mark.parametrize(
        ("old", "new", "change"),
        [
            ("Alice Example", "Alice Other", ("--comment", "Alice Example")),
            ("/fsx/home/alice", "/home/alice", ("--home", "/fsx/home/alice")),
            ("20001:30001", "20001:30002", ("--gid", "30001")),
        ],
    )
    def test_only_what_differs_is_changed(self, old: str, new: str, change: tuple[str]) -> None:
        known = read_known(PASSWD.replace(old, new), SHADOW, GROUP)
        assert plan(ACCESS, known, NOBODY) == [("usermod", *change, "alice")]

    def test_a_shell_of_the_users_own_choice_stays(self) -> None:
        known = read_known(PASSWD.replace("alice:/bin/bash", "alice:/bin/zsh"), SHADOW, GROUP)
        assert plan(ACCESS, known, NOBODY) == []

    def test_users_go_into_groups_and_out_of_them(self) -> None:
        known = read_known(PASSWD, SHADOW, GROUP.replace(":alice", ":bob,by-hand"))
        assert plan(ACCESS, known, NOBODY) == [
            ("gpasswd", "--add", "alice", "vision"),
            ("gpasswd", "--delete", "bob", "vision"),
        ]

    def test_who_left_is_locked_once_and_leaves_the_groups(self) -> None:
        access = replace(ACCESS, users=(BOB,))
        known = read_known(PASSWD, SHADOW, GROUP)
        assert plan(access, known, frozenset({"alice", "gone"})) == [
            ("gpasswd", "--delete", "alice", "vision"),
            ("usermod", "--expiredate", "1", "--shell", "/usr/sbin/nologin", "alice"),
        ]
        locked = SHADOW.replace("alice:!:20000:0:99999:7:::", "alice:!:20000:0:99999:7::1:")
        known = read_known(PASSWD, locked, GROUP.replace(":alice", ":"))
        assert plan(access, known, frozenset({"alice"})) == []

    def test_who_comes_back_is_let_in(self) -> None:
        locked = SHADOW.replace("bob:!:20000:0:99999:7:::", "bob:!:20000:0:99999:7::1:")
        known = read_known(PASSWD, locked, GROUP)
        assert plan(ACCESS, known, NOBODY) == [
            ("usermod", "--expiredate", "", "--shell", "/bin/bash", "bob")
        ]


class TestConflicts:
    def test_there_are_none_on_a_new_node_or_one_that_is_set_up(self) -> None:
        assert conflicts(ACCESS, EMPTY) == []
        assert conflicts(ACCESS, read_known(PASSWD, SHADOW, GROUP)) == []

    @pytest.mark.parametrize(
        ("passwd", "group", "said"),
        [
            (
                "image:x:20001:1::/:/bin/sh\n",
                "",
                "the user image has the id 20001 of alice on this node",
            ),
            (
                "alice:x:1001:1::/:/bin/sh\n",
                "",
                "the user alice has the id 1001 on this node, not 20001",
            ),
            ("", "disk:x:30001:\n", "the group disk has the id 30001 of lab on this node"),
            ("", "lab:x:7:\n", "the group lab has the id 7 on this node, not 30001"),
        ],
    )
    def test_names_and_ids_of_others_are_told(self, passwd: str, group: str, said: str) -> None:
        assert conflicts(ACCESS, read_known(passwd, "", group)) == [said]

    def test_a_name_with_an_odd_line_end_is_one_line(self) -> None:
        known = read_known("eve:x:20003:5:Eve\u2028\x85E:/h:/bin/sh\n", "", "")
        assert known.users["eve"].full_name == "Eve\u2028\x85E"

    def test_odd_lines_are_left_out(self) -> None:
        known = read_known("+::::::\n\nhalf:x:1\nodd:x:y:1::/:/bin/sh\n", "x\n", "+:::\n")
        assert (known.users, known.groups) == ({}, {})
