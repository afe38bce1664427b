"""What is in the files that an environment names counts as what is in the environment itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from slurmpod.changes.compare import changes
from slurmpod.deployment_record import read_record, record
from slurmpod.environment.base import Kind
from slurmpod.reading.read import read
from slurmpod.resolve import Resolved, resolve
from tests.pure.changes.comparing import changed, summary
from tests.sound_environment import sound_data

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPBPVu/VipWg9Ijf/br3eE/Tmr3nL/Iia1xeLpRc1rwC alice@pc"
COLUMNS = "name,uid,full_name,ssh_keys\n"
ALICE = f"alice,20001,Alice,{KEY}\n"
BOB = "bob,20002,Bob,\n"
CAROL = "carol,20003,Carol,\n"
USERS_FILE = {"access": {"users_file": "people.csv"}}
POLICY = {"Version": "2012-10-17", "Statement": []}
ROLE = "arn:aws:iam::123456789012:role/nodes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def environment(folder: Path, files: dict[str, str], **sections: Any) -> Resolved:
    """Write an environment and the files beside it, and read them as commands do."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "dev.yaml").write_text(yaml.safe_dump({**sound_data(), **sections}))
    loaded = read(folder / "dev.yaml")
    assert loaded.problems == ()
    return resolve(loaded)


def people(folder: Path, *lines: str) -> Resolved:
    return environment(folder, {"people.csv": COLUMNS + "".join(lines)}, **USERS_FILE)


class TestUsers:
    def test_who_is_dropped_from_the_file_is_named_and_locked_out(self, folder: Path) -> None:
        found = changed(people(folder, ALICE, BOB, CAROL), people(folder, BOB))
        assert summary(found) == [
            ("access.users.alice", Kind.NEW_NODES),
            ("access.users.carol", Kind.NEW_NODES),
        ]
        assert all("locked out" in each.effect.meaning for each in found)

    def test_who_comes_is_named_and_found_in_the_file(self, folder: Path) -> None:
        (change,) = changed(people(folder, ALICE), people(folder, BOB, ALICE))
        assert (change.path, change.new_path) == ("access.users.bob", ("access", "users_file"))
        assert (change.old, change.new["uid"]) == (None, 20002)

    @pytest.mark.parametrize(
        ("line", "key", "kind"),
        [
            (f"alice,20009,Alice,{KEY}\n", "uid", Kind.REFUSED),
            (f"alice,20001,Alice B,{KEY}\n", "full_name", Kind.NEW_NODES),
            (f"alice,20001,Alice,{KEY}x\n", "ssh_keys", Kind.NEW_NODES),
        ],
    )
    def test_a_line_has_the_effects_of_its_cells(
        self, folder: Path, line: str, key: str, kind: Kind
    ) -> None:
        found = changed(people(folder, ALICE), people(folder, line))
        assert summary(found) == [(f"access.users.alice.{key}", kind)]

    def test_another_order_of_lines_and_columns_changes_nothing(self, folder: Path) -> None:
        old = people(folder, ALICE, BOB)
        text = f"uid,name,ssh_keys,full_name\n20002,bob,,Bob\n20001,alice,{KEY},Alice\n"
        assert changed(old, environment(folder, {"people.csv": text}, **USERS_FILE)) == []

    def test_people_who_move_between_file_and_environment_stay_who_they_are(
        self, folder: Path
    ) -> None:
        alice = {"name": "alice", "uid": 20001, "full_name": "Alice", "ssh_keys": [KEY]}
        in_yaml = environment(folder, {}, access={"users": [alice]})
        both = {"access": {"users": [alice], "users_file": "more.csv"}}
        with_bob = environment(folder, {"more.csv": COLUMNS + BOB}, **both)
        in_file = people(folder, ALICE)
        assert changed(in_yaml, in_file) == changed(in_file, in_yaml) == []
        assert summary(changed(in_file, with_bob)) == [("access.users.bob", Kind.NEW_NODES)]
        other = environment(folder, {}, access={"users": [{**alice, "uid": 20009}]})
        assert summary(changed(in_file, other)) == [("access.users.alice.uid", Kind.REFUSED)]

    def test_the_record_has_no_keys_of_people_in_the_file(self, folder: Path) -> None:
        written = "".join(record(people(folder, ALICE)).values())
        assert "alice" in written
        assert KEY.split()[1] not in written


HOOKS = {"lifecycle": {"hooks": {"worker": {"before": "hook.sh"}}}}
SCRIPTS = {"lifecycle": {"scripts": "own"}}
COPIES = {"identity": {"existing": {"controller": ROLE, "policy_files": ["one.json", "two.json"]}}}
BOUNDARY = {
    "identity": {
        "permissions_boundary": {
            "policy_arn": "arn:aws:iam::123456789012:policy/boundary",
            "policy_file": "one.json",
        }
    }
}
ALLOWED = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}],
    }
)
DENIED = ALLOWED.replace("Allow", "Deny")


@pytest.mark.parametrize(
    ("sections", "old", "new", "path", "meaning"),
    [
        (
            HOOKS,
            {"hook.sh": "#!/bin/sh\ntrue\n"},
            {"hook.sh": "#!/bin/sh\nfalse\n"},
            "lifecycle.hooks.worker.before",
            "slurmpod lifecycle run",
        ),
        (
            SCRIPTS,
            {"own/on_create.sh": "true\n"},
            {"own/on_create.sh": "false\n"},
            "lifecycle.scripts",
            "until they are replaced",
        ),
        (
            SCRIPTS,
            {"own/on_create.sh": "true\n"},
            {"own/on_create.sh": "true\n", "own/more.sh": "true\n"},
            "lifecycle.scripts",
            "until they are replaced",
        ),
        (
            COPIES,
            {"one.json": ALLOWED, "two.json": DENIED},
            {"one.json": ALLOWED, "two.json": ALLOWED},
            "identity.existing.policy_files",
            "nothing on AWS changes",
        ),
        (
            BOUNDARY,
            {"one.json": ALLOWED},
            {"one.json": DENIED},
            "identity.permissions_boundary.policy_file",
            "nothing on AWS changes",
        ),
    ],
)
class TestContents:
    def test_other_content_is_told_and_where_it_counts(
        self, folder: Path, sections: Any, old: Any, new: Any, path: str, meaning: str
    ) -> None:
        before = environment(folder, old, **sections)
        assert changed(before, environment(folder, old, **sections)) == []
        (change,) = changed(before, environment(folder, new, **sections))
        assert change.path == path
        assert change.is_harmless
        assert change.effect.meaning.startswith("its content has changed; ")
        assert meaning in change.effect.meaning
        assert change.old != change.new

    def test_a_record_of_an_earlier_version_says_nothing_of_contents(
        self, folder: Path, sections: Any, old: Any, new: Any, path: str, meaning: str
    ) -> None:
        deployed = environment(folder, old, **sections).environment.model_dump(mode="json")
        assert changes(deployed, environment(folder, new, **sections)) == ()

    def test_the_record_has_no_content(
        self, folder: Path, sections: Any, old: Any, new: Any, path: str, meaning: str
    ) -> None:
        written = "".join(record(environment(folder, new, **sections)).values())
        assert "false" not in written.replace(":false", "")
        assert "s3:GetObject" not in written


def test_a_record_of_an_earlier_version_says_nothing_of_people_in_files(folder: Path) -> None:
    wanted = people(folder, ALICE, BOB)
    deployed = wanted.environment.model_dump(mode="json")
    assert changes(deployed, wanted) == ()
    in_file = environment(folder, {}, access={})
    (change,) = changes(in_file.environment.model_dump(mode="json"), wanted)
    assert (change.path, change.old, change.new) == ("access.users_file", None, "people.csv")


def test_a_file_of_another_name_changes_nothing(folder: Path) -> None:
    old = environment(folder, {"hook.sh": "#!/bin/sh\n"}, **HOOKS)
    renamed = {"lifecycle": {"hooks": {"worker": {"before": "other.sh"}}}}
    assert changed(old, environment(folder, {"other.sh": "#!/bin/sh\n"}, **renamed)) == []
    (change,) = changed(old, environment(folder, {"other.sh": "#!/bin/bash\n"}, **renamed))
    assert (change.old, change.new) == ("hook.sh", "other.sh")


def test_a_hook_that_comes_or_goes_is_told_by_its_name(folder: Path) -> None:
    with_hook = environment(folder, {"hook.sh": "#!/bin/sh\n"}, **HOOKS)
    without = environment(folder, {})
    (coming,), (going,) = changed(without, with_hook), changed(with_hook, without)
    assert (coming.old, coming.new) == (going.new, going.old) == (None, "hook.sh")
    assert "content" not in coming.effect.meaning + going.effect.meaning


def test_the_record_tells_contents_by_digests(folder: Path) -> None:
    read = read_record(record(environment(folder, {"hook.sh": "#!/bin/sh\n"}, **HOOKS)))
    (hook,) = read["files"]["lifecycle"]["hooks"]["worker"].values()
    assert hook.startswith("content sha256:")
