"""The CSV file of users: what it may look like, and everything that can be wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.environment.access import User
from slurmpod.reading.read import read
from slurmpod.reading.users_file import SHOWN, UsersReading, read_users, read_users_file
from tests.sound_environment import SOUND

KEY = "ssh-ed25519 AAAA alice@laptop"


def read_text(text: str) -> UsersReading:
    return read_users("users.csv", text)


def users(text: str) -> list[User]:
    reading = read_text(text)
    assert reading.problems == ()
    return [listed.user for listed in reading.users]


def said(text: str) -> list[tuple[int, str, str]]:
    """Return line, column name and message of every problem."""
    problems = read_text(text).problems
    assert {problem.rule for problem in problems} <= {"USR-001"}
    assert all(problem.fix for problem in problems)
    return [(each.where.line, each.where.path, each.message) for each in problems]


class TestWhatItMayLookLike:
    def test_every_field_of_a_user_can_be_a_column(self) -> None:
        header = ",".join(User.model_fields)
        row = (
            f'alice,20001,Alice Example,lab,vision language,"{KEY} | {KEY}",'
            "research teaching,research,normal  high,5,true"
        )
        assert users(f"{header}\n{row}\n") == [
            User(
                name="alice",
                uid=20001,
                full_name="Alice Example",
                group="lab",
                groups=("vision", "language"),
                ssh_keys=(KEY, KEY),
                accounts=("research", "teaching"),
                default_account="research",
                qos=("normal", "high"),
                shares=5,
                admin=True,
            )
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "uid,name\n20001,alice\n",
            "name,uid\r\nalice,20001\r\n",
            "name,uid\n\n , \nalice,20001",
            " name , uid \n alice ,20001\n",
            "name,uid,admin,group\nalice,20001,FALSE,\n",
        ],
    )
    def test_order_line_ends_blanks_and_empty_cells_do_not_matter(self, text: str) -> None:
        assert users(text) == [User(name="alice", uid=20001)]

    def test_each_user_knows_its_line(self) -> None:
        text = 'name,uid,groups\n\nalice,20001,"vision\nlanguage"\nbob,20002,\n'
        assert [listed.where.line for listed in read_text(text).users] == [3, 5]

    def test_only_a_header_is_nobody(self) -> None:
        assert users("name,uid\n") == []


class TestWhatIsWrong:
    def test_with_the_header(self) -> None:
        assert said("") == [(1, "", "the file is empty")]
        assert said("name;uid\n") == [(1, "", "cells are separated by ';'")]
        assert said("name\tuid\n") == [(1, "", "cells are separated by '\\t'")]
        assert said("name\n") == [(1, "", "the column 'uid' is missing")]
        assert said("name,udi,name,x\nalice,1,2,3\n") == [
            (1, "", "unknown column 'udi'"),
            (1, "", "the column 'name' is there twice"),
            (1, "", "unknown column 'x'"),
        ]
        assert "did you mean 'uid'?" in read_text("name,udi\n").problems[0].fix

    def test_with_cells_all_at_once_and_in_the_words_for_yaml(self) -> None:
        assert said("name,uid,admin\nAlice,x,yes\nbob,20002,\n,-1,\n") == [
            (2, "name", "'Alice' does not have the right form"),
            (2, "uid", "'x' is not a whole number"),
            (2, "admin", "'yes' is neither true nor false"),
            (4, "name", "the value is missing"),
            (4, "uid", "'-1' is not a whole number"),
        ]

    def test_a_wrong_line_hides_no_other(self) -> None:
        reading = read_text("name,uid\nAlice,1\nbob,20002\n")
        assert [listed.user.name for listed in reading.users] == ["bob"]

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ("alice", "the line has 1 cells, and the first one names 2"),
            ("alice,1,2", "the line has 3 cells, and the first one names 2"),
            ('"alice,1', "this is not CSV: unexpected end of data"),
            ('"a"b,1', "this is not CSV: ',' expected after '\"'"),
        ],
    )
    def test_with_a_line(self, row: str, message: str) -> None:
        assert said(f"name,uid\n{row}\n") == [(2, "", message)]

    def test_many_problems_are_counted(self) -> None:
        found = said("name,uid\n" + "x\n" * 50)
        assert len(found) == SHOWN + 1
        assert found[-1] == (SHOWN + 2, "", "30 more problems in this file from here on")

    def test_a_private_key_is_never_shown(self) -> None:
        key = "-----BEGIN OPENSSH PRIVATE KEY-----\nSecret\n-----END OPENSSH PRIVATE KEY-----"
        for text in (f'name,uid,ssh_keys\na,5000,"{key}"\n', f"name,uid\n{key}\n", f"{key},uid\n"):
            reading = read_text(text)
            assert reading.problems
            assert "Secret" not in repr(reading)


class TestWhereItIs:
    def named(self, folder: Path, name: str) -> UsersReading:
        file = folder / "environment.yaml"
        file.write_text(f"{SOUND}access:\n  users_file: {name}\n")
        loaded = read(file)
        assert loaded.environment is not None
        return read_users_file(loaded.environment, loaded.source)

    def test_beside_the_file_that_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "users.csv").write_bytes("\ufeffname,uid\r\nalice,20001\r\n".encode())
        reading = self.named(tmp_path, "users.csv")
        assert [listed.user.name for listed in reading.users] == ["alice"]
        assert reading.users[0].where.file == str(tmp_path / "users.csv")

    @pytest.mark.parametrize("name", ["missing.csv", ".", "latin.csv"])
    def test_or_it_is_told_at_the_name(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "latin.csv").write_bytes(b"name,uid\n\xff,1\n")
        (problem,) = self.named(tmp_path, name).problems
        assert (problem.rule, problem.where.path) == ("USR-001", "access.users_file")
        assert problem.where.file.endswith("environment.yaml")
        assert "CSV" in problem.fix
