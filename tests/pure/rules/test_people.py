"""Users of an environment and of its CSV file: judged together, each told where it stands."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import pytest

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode, Problem
from slurmpod.reading.read import read
from slurmpod.rules.check import check
from slurmpod.rules.directory import is_certificate
from slurmpod.rules.ssh_keys import NoPublicKey, read_public_key
from tests.pure.reading.test_private_keys import KEYS, OPENSSH, SECRET
from tests.sound_environment import SOUND


def problems(folder: Path, access: str, csv: str | None = None) -> tuple[Problem, ...]:
    return check(read(written(folder, access, csv)))


def written(folder: Path, access: str, csv: str | None = None) -> Path:
    file = folder / "environment.yaml"
    beside = "" if csv is None else "  users_file: users.csv\n"
    file.write_text(f"{SOUND}access:\n{beside}{access}")
    if csv is not None:
        (folder / "users.csv").write_text(csv)
    return file


def places(found: tuple[Problem, ...]) -> list[tuple[str, str, int, str]]:
    return [
        (each.rule, each.where.file.rpartition("/")[2], each.where.line, each.where.path)
        for each in found
    ]


class TestTogether:
    def test_a_user_of_the_file_is_told_at_its_line(self, tmp_path: Path) -> None:
        access = "  users:\n    - {name: alice, uid: 20001}\n"
        csv = "name,uid,group,ssh_keys\nalice,20002,,\nbob,20001,nope,\ncarl,5,,x\n"
        found = problems(tmp_path, access, csv)
        assert sorted(places(found)) == [
            ("KEY-001", "users.csv", 4, "ssh_keys"),
            ("USR-002", "users.csv", 2, "name"),
            ("USR-003", "users.csv", 3, "uid"),
            ("USR-006", "users.csv", 4, "uid"),
            ("USR-008", "users.csv", 3, "group"),
        ]

    def test_the_first_of_two_is_named(self, tmp_path: Path) -> None:
        csv = "name,uid\nalice,20001\nalice,20002\n"
        (found,) = problems(tmp_path, "  groups: []\n", csv)
        assert found.message.endswith("users.csv, line 2")

    def test_problems_of_the_file_and_of_rules_come_together(self, tmp_path: Path) -> None:
        csv = "name,uid\nAlice,20001\nbob,999\n"
        found = problems(tmp_path, "  groups: []\n", csv)
        assert {each.rule for each in found} == {"USR-001", "USR-006"}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
class TestPrivateKeys:
    def shown(self, file: Path, capsys: pytest.CaptureFixture[str]) -> str:
        said = []
        for options in ([], ["--json"]):
            assert run(["validate", str(file), *options]) == ExitCode.INVALID
            said += [*capsys.readouterr()]
        assert "private key" in said[0]
        return "".join(said)

    def test_in_yaml_are_never_shown(
        self, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for style in (">", "|"):
            lines = "".join(f"          {line}\n" for line in key.splitlines())
            user = "  users:\n    - name: alice\n      uid: 20001\n      ssh_keys:\n"
            file = written(tmp_path, f"{user}        - {style}-\n{lines}")
            assert SECRET not in self.shown(file, capsys)

    def test_in_the_file_of_users_are_never_shown(
        self, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for cell in (f'"{key}"', key, key.replace("\n", " ")):
            csv = f"name,uid,ssh_keys\nalice,20001,{cell}\n"
            file = written(tmp_path, "  groups: []\n", csv)
            assert SECRET not in self.shown(file, capsys)

    def test_as_the_whole_file_of_users_are_never_shown(
        self, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = written(tmp_path, "  groups: []\n", key)
        assert SECRET not in self.shown(file, capsys)

    def test_as_a_certificate_are_never_shown(
        self, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        directory = "  directory:\n    uris: [ldaps://a.example.com]\n    base_dn: dc=a\n"
        for first in ("", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"):
            pem = "".join(f"      {line}\n" for line in (first + key).splitlines())
            file = written(tmp_path, f"{directory}    ca_certificate: |\n{pem}")
            assert SECRET not in self.shown(file, capsys)


def value(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def line(kind: str, *values: bytes, inside: str | None = None) -> str:
    blob = b"".join(map(value, ((inside or kind).encode(), *values)))
    return f"{kind} {base64.b64encode(blob).decode()} somebody@somewhere"


class TestPublicKeys:
    @pytest.mark.parametrize(
        ("text", "bits"),
        [
            (line("ssh-ed25519", b"x" * 32), None),
            (line("ssh-rsa", b"\1\0\1", b"\0\x80" + b"x" * 255), 2048),
            (line("ecdsa-sha2-nistp256", b"nistp256", b"\4" + b"x" * 64), None),
            (line("sk-ssh-ed25519@openssh.com", b"x" * 32, b"ssh:"), None),
            (line("sk-ecdsa-sha2-nistp256@openssh.com", b"nistp256", b"x", b"ssh:"), None),
            (line("ssh-ed25519", b"x" * 32).rpartition(" ")[0], None),
            ("  " + line("ssh-ed25519", b"x" * 32).replace(" ", "\t"), None),
        ],
    )
    def test_are_read(self, text: str, bits: int | None) -> None:
        key = read_public_key(text)
        assert (key.kind, key.rsa_bits) == (text.split()[0], bits)

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "known type"),
            ("alice@laptop", "known type"),
            (f"from=10.0.0.1 {line('ssh-ed25519', b'x' * 32)}", "known type"),
            (line("ssh-ed25519-cert-v01@openssh.com", b"x" * 32), "known type"),
            ("ssh-ed25519", "no key"),
            ("ssh-ed25519 !!!!", "not base64"),
            (line("ssh-ed25519", b"x" * 32)[:-40], "base64|cut off"),
            (line("ssh-ed25519", b"x" * 31), "not whole"),
            (line("ssh-ed25519"), "not whole"),
            (line("ssh-rsa", b"\1\0\1"), "not whole"),
            (line("ssh-rsa", b"x" * 32, inside="ssh-ed25519"), "not the one inside"),
            ("ssh-ed25519 AAAA", "cut off"),
            ("ssh-ed25519 ====", "base64|empty"),
        ],
    )
    def test_or_refused_without_being_shown(self, text: str, reason: str) -> None:
        with pytest.raises(NoPublicKey, match=reason) as refused:
            read_public_key(text)
        assert not [word for word in text.split()[1:] if word in str(refused.value)]


def test_what_merely_looks_like_a_certificate_is_none() -> None:
    odd = "-----BEGIN CERTIFICATE-----\n\xa0\n-----END CERTIFICATE-----\n"
    assert not is_certificate(odd)
    assert not is_certificate("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    assert not is_certificate("-----BEGIN CERTIFICATE-----\n" + OPENSSH)
