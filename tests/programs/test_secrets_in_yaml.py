"""Secrets that somebody writes into an environment by mistake: no command shows them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from slurmpod.cli.main import run

MARK = "hunter2-marked"
ARN = "arn:aws:kms:us-west-2:123456789012:key/0f0e0d0c-1111-2222-3333-444455556666"

HEAD = """
name: leak
account: "123456789012"
region: us-west-2
network: {zone: usw2-az2}
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: cpu, role: worker, instance_type: ml.c5.xlarge, partition: cpu}
"""
DIRECTORY = "access: {directory: {uris: ['ldaps://l.example.com'], base_dn: dc=x, bind_dn: cn=x, "
MISTAKES = {
    "password for an ARN": f"slurm: {{accounting_database: {{endpoint: e, secret_arn: {MARK}}}}}",
    "password for a key": f"storage: {{lustre: {{capacity_gib: 1200, kms_key_arn: {MARK}}}}}",
    "password for a topic": f"slurm: {{multi_head: {{sns_topic_arn: '{MARK}'}}}}",
    "password for a role": f"identity: {{existing: {{controller: {MARK}}}}}",
    "password for a policy": f"identity:\n  policy_arns:\n    - {MARK}",
    "password beside a secret": (
        f"slurm: {{accounting_database: {{endpoint: db.example.com, password: {MARK}}}}}"
    ),
    "password of a directory": f"{DIRECTORY}bind_password: '{MARK}'}}}}",
    "password for its secret": f"{DIRECTORY}bind_secret_arn: {MARK}}}}}",
    "password in a URI": (
        "access: {directory: {uris: "
        f"['ldaps://cn=x:{MARK}@l.example.com'], base_dn: dc=x, bind_dn: cn=x}}}}"
    ),
    "password of a database": f"slurm: {{rds: {{master_password: {MARK}}}}}",
    "password on a line with another mistake": (
        f"slurm: {{rds: {{master_password: {MARK}, storage_gib: 1}}}}"
    ),
}
COMMANDS = (
    ("validate",),
    ("validate", "--json"),
    ("expand",),
    ("permissions",),
    ("rehearse", "--cloud-only", "--json"),
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_password_in_the_wrong_place_is_refused_and_not_shown(
    mistake: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "leak.yaml"
    file.write_text(HEAD + MISTAKES[mistake] + "\n")

    for command, *options in COMMANDS:
        code = run([command, str(file), *options])
        printed, said = capfd.readouterr()
        assert code not in (0, 70), (command, said)
        assert MARK not in printed + said, command
        assert "Traceback" not in said


@pytest.mark.parametrize("block", [True, False])
def test_a_private_key_is_refused_and_not_shown(
    block: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    lines = key.read_text().splitlines()
    written = "|\n" + "".join(f"          {line}\n" for line in lines)
    entry = written if block else f'"{" ".join(lines)}"'
    file = tmp_path / "leak.yaml"
    file.write_text(
        f"{HEAD}access:\n  users:\n    - name: bob\n      uid: 20001\n      ssh_keys:\n"
        f"        - {entry}\n"
    )

    for command, *options in COMMANDS:
        assert run([command, str(file), *options]) != 0, command
        printed, said = capfd.readouterr()
        for line in lines[1:-1]:
            assert line not in printed + said, command


def test_an_arn_with_a_mistake_is_shown_with_its_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "typo.yaml"
    wrong = ARN.replace("123456789012", "12345")
    file.write_text(f"{HEAD}storage:\n  lustre: {{capacity_gib: 1200, kms_key_arn: '{wrong}'}}\n")

    run(["validate", str(file)])
    shown = "".join(capfd.readouterr())

    assert f"'{wrong[:60]}...'" in shown
    assert f"kms_key_arn: '{wrong[:30]}" in shown
