"""Private keys are recognised in whatever form they were pasted, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurmpod.reading.read import read_as
from slurmpod.reading.secrets_in_text import (
    FOUND,
    HIDDEN,
    REMOVE,
    holds_private_key,
    lines_of_private_keys,
)
from tests.sound_environment import SOUND

SECRET = "k9Xq"
"""A mark that is in every piece of the made-up keys below."""

BODY = (f"{SECRET}b3Aa7" * 8)[:70]
OPENSSH = f"""\
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ{SECRET}AAAAAAAAABAAAAMwAAAAtzc2gt
{BODY}
{SECRET}Ag==
-----END OPENSSH PRIVATE KEY-----
"""
PEM = f"""\
-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,{SECRET}

{BODY[:64]}
{SECRET}=
-----END RSA PRIVATE KEY-----
"""
PUTTY = f"""\
PuTTY-User-Key-File-3: ssh-ed25519
Encryption: none
Comment: {SECRET}
Public-Lines: 2
{BODY[:64]}
{SECRET}
Private-Lines: 1
{SECRET}AAAAIA==
Private-MAC: {SECRET}
"""
KEYS = {"openssh": OPENSSH, "pem": PEM, "putty": PUTTY}

EXAMPLES = Path(__file__).parents[3] / "environments"


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
class TestAKey:
    def test_is_recognised_whole_folded_and_as_one_line(self, key: str) -> None:
        assert holds_private_key(key)
        assert holds_private_key(" ".join(key.split()))
        assert holds_private_key(key.replace("\n", "\\n"))
        assert holds_private_key(f"ssh-ed25519 {key}")

    def test_no_line_of_it_is_shown(self, key: str) -> None:
        lines = ["ssh_keys:", *(f"    {line}" for line in key.splitlines()), "name: x"]
        hidden = lines_of_private_keys(lines)
        shown = [line for number, line in enumerate(lines, start=1) if number not in hidden]
        assert SECRET not in "".join(shown)
        assert shown[0] == "ssh_keys:"
        assert shown[-1] == "name: x"

    @pytest.mark.parametrize(
        "form",
        [
            "access:\n  users:\n    - name: a\n      uid: 5000\n      ssh_keys:\n        - |\n{10}",
            "access:\n  users:\n    - name: a\n      uid: 5000\n      ssh_keys:\n        - {line}",
            "access:\n  users:\n    - name: {json}\n      uid: 5000\n",
            "access:\n  users:\n    - {json}\n",
            "access:\n  directory:\n    ca_certificate: {json}\n",
            "access:\n  {json}: x\n",
            "suppress:\n  - rule: {json}\n    reason: {json}\n",
            "access:\n{2}",
            "{0}",
        ],
    )
    def test_no_message_shows_it(self, key: str, form: str) -> None:
        text = SOUND + form
        for depth in (0, 2, 10):
            indented = "".join(f"{' ' * depth}{line}\n" for line in key.splitlines())
            text = text.replace(f"{{{depth}}}", indented)
        text = text.replace("{line}", json.dumps(key.replace("\n", " ")))
        text = text.replace("{json}", json.dumps(key))
        problems = read_as("dev.yaml", text).problems
        assert SECRET not in repr(problems)


def test_one_in_a_value_is_called_by_its_name() -> None:
    key = json.dumps([OPENSSH])
    text = f"{SOUND}access:\n  users:\n    - {{name: a, uid: 5000, ssh_keys: {key}}}\n"
    (problem,) = read_as("dev.yaml", text).problems
    assert (problem.message, problem.fix) == (FOUND, REMOVE)


def test_a_piece_without_its_first_line_is_recognised() -> None:
    for line in OPENSSH.splitlines()[1:3]:
        assert holds_private_key(line)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x" * 400,
        "a" * 64,
        "0123456789abcdef" * 4,
        "/fsx/" + "projects/" * 10,
        "-----BEGIN CERTIFICATE-----\n" + f"{BODY[:64]}\n" * 9 + "-----END CERTIFICATE-----\n",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFC1cDDqppc9f5Z1gDxSkJWunieALZNXZqqOfbUyrtvb a@b",
        "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBFC1cDDqppc9f5Z1gDxSkJWunieALZNX",
    ],
)
def test_other_texts_are_no_private_keys(text: str) -> None:
    assert not holds_private_key(text)


@pytest.mark.parametrize("file", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda file: file.stem)
def test_examples_are_shown(file: Path) -> None:
    lines = file.read_text().splitlines()
    in_certificates = {
        number
        for number, line in enumerate(lines, start=1)
        if len(line.strip()) >= 60 and " " not in line.strip()
    }
    assert lines_of_private_keys(lines) <= in_certificates


def test_what_stands_in_place_of_a_key_is_none() -> None:
    assert not holds_private_key(HIDDEN)
