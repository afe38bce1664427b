"""What nodes are told about people: complete, so that steps need no rules of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slurmpod.bundle.settings import access_settings
from slurmpod.bundle.slurm_settings import slurm_settings
from slurmpod.environment.access import User
from slurmpod.problems import Where
from slurmpod.reading.read import Reading, read_as
from slurmpod.reading.users_file import ListedUser
from slurmpod.resolve import Resolved, resolve
from slurmpod_lifecycle.dataclass_json import to_json
from tests.pure.bundle.test_slurm_settings import YAML

SLURM = """
slurm:
  qos: [{name: urgent}]
  accounts:
    - {name: research, qos: [urgent, normal]}
    - {name: teaching}
"""


def resolved(access: str, more: str = "") -> Resolved:
    text = f"{YAML}{more}access:\n{access}"
    listed = ListedUser(User(name="zoe", uid=20009), Where("users.csv", 2))
    return resolve(
        replace(read_as("test.yaml", text), users=(listed,) if "users_file" in text else ())
    )


def values(access: str, more: str = "") -> dict[str, Any]:
    written: dict[str, Any] = to_json(access_settings(resolved(access, more)))
    return written


def user(text: str, more: str = "") -> dict[str, Any]:
    found: dict[str, Any] = values(f"  users:\n    - {{name: alice, uid: 20001{text}}}\n", more)
    return dict(found["users"][0])


def test_without_people_there_is_next_to_nothing() -> None:
    assert values("  groups: []\n") == {
        "groups": [],
        "users": [],
        "home_directory": "/fsx/home",
        "homes_shared": True,
        "directory": None,
    }


def test_a_user_has_everything_that_a_node_needs() -> None:
    assert user("") == {
        "name": "alice",
        "uid": 20001,
        "full_name": "",
        "group": "alice",
        "groups": [],
        "home": "/fsx/home/alice",
        "ssh_keys": [],
        "admin": False,
        "associations": [
            {
                "account": "default",
                "options": {"Fairshare": "1", "QOS": ["normal"], "DefaultQOS": "normal"},
            }
        ],
    }


def test_users_of_the_file_are_users_and_have_their_own_groups() -> None:
    text = "  users_file: users.csv\n  groups: [{name: lab, gid: 30001}]\n"
    found = values(f"{text}  users: [{{name: bob, uid: 20002, group: lab, groups: [lab]}}]\n")
    assert found["groups"] == [{"name": "lab", "gid": 30001}, {"name": "zoe", "gid": 20009}]
    assert [(each["name"], each["group"], each["groups"]) for each in found["users"]] == [
        ("bob", "lab", []),
        ("zoe", "zoe", []),
    ]


@pytest.mark.parametrize(
    ("storage", "folder", "shared"),
    [
        ("storage: {openzfs: {}}\n", "/home", True),
        ("storage: {lustre: null, openzfs: {mount_path: /people}}\n", "/people", True),
        ("storage: {lustre: null}\n", "/home", False),
    ],
)
def test_homes_are_on_shared_storage_if_there_is_any(
    storage: str, folder: str, shared: bool
) -> None:
    found = values("  users: [{name: alice, uid: 20001}]\n", storage)
    assert (found["home_directory"], found["homes_shared"]) == (folder, shared)
    assert found["users"][0]["home"] == f"{folder}/alice"


class TestAssociations:
    def accounts(self, text: str) -> list[tuple[str, list[str], str]]:
        return [
            (each["account"], each["options"]["QOS"], each["options"]["DefaultQOS"])
            for each in user(text, SLURM)["associations"]
        ]

    def test_are_with_all_accounts_unless_said_otherwise(self) -> None:
        both = [
            ("research", ["normal", "urgent"], "normal"),
            ("teaching", ["normal"], "normal"),
        ]
        assert self.accounts("") == both
        assert self.accounts(", accounts: [teaching]") == both[1:]

    def test_begin_with_the_default_account(self) -> None:
        assert self.accounts(", default_account: teaching")[0][0] == "teaching"
        assert self.accounts(", accounts: [teaching, research]")[0][0] == "teaching"

    def test_have_a_default_qos_that_the_user_has(self) -> None:
        assert self.accounts(", qos: [urgent]") == [
            ("research", ["urgent"], "urgent"),
            ("teaching", ["urgent"], "urgent"),
        ]
        assert self.accounts(", qos: [urgent, normal]")[0][2] == "normal"

    def test_are_nowhere_without_accounting(self) -> None:
        assert user("", "slurm: {accounting: false}\n")["associations"] == []

    def test_make_slurm_enforce_what_users_have(self) -> None:
        access = "  users: [{{name: alice, uid: 20001{}}}]\n"
        plain = "slurm: {accounts: [{name: research}]}\n"
        for text, enforced in (("", False), (", accounts: [research]", True)):
            configuration = slurm_settings(resolved(access.format(text), plain)).configuration
            assert ("AccountingStorageEnforce" in configuration) is enforced


def test_a_directory_can_be_installed_unless_the_network_is_closed() -> None:
    text = "  directory: {uris: [ldaps://a.example.com], base_dn: dc=example}\n"
    assert values(text)["directory"]["installable"]
    assert YAML.count("network: {zone: us-west-2b}") == 1
    closed = YAML.replace("{zone: us-west-2b}", "{zone: us-west-2b, closed: true}")
    environment = read_as("test.yaml", f"{closed}access:\n{text}").environment
    assert environment is not None
    directory = access_settings(resolve(Reading(environment))).directory
    assert directory
    assert not directory.installable
