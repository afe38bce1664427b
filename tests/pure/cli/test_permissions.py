"""`slurmpod permissions`: documents for whoever makes roles by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embedded_aws.iam import policy_of
from slurmpod.cli.main import run
from tests.sound_environment import SOUND

if TYPE_CHECKING:
    import pytest

ROLES = f"{SOUND}identity: {{roles: per_role, image_repositories: [training/pytorch]}}\n"


def printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str, text: str = SOUND
) -> tuple[int, str, str]:
    file = tmp_path / "dev.yaml"
    file.write_text(text)
    code = run(["permissions", str(file), *options])
    return int(code), *capsys.readouterr()


def test_the_policy_of_one_role_is_json_that_iam_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = printed(tmp_path, capsys, "--role", "controller", text=ROLES)
    policy = policy_of("printed", json.loads(out))
    assert code == 0
    assert {statement.sid for statement in policy.statements} >= {"WriteLogs", "TakeSessions"}
    assert "wildcards (*)" in err


def test_each_iam_role_has_a_policy_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = printed(tmp_path, capsys, text=ROLES)
    assert code == 0
    assert out.count('"Version": "2012-10-17"') == 2
    assert out.startswith("# for controller nodes\n")
    assert "# for worker nodes\n" in out


def test_the_policy_of_a_single_role_is_nothing_but_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = printed(tmp_path, capsys)
    assert policy_of("printed", json.loads(out)).statements


def test_json_is_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = printed(tmp_path, capsys, "--json", text=ROLES)
    found: list[dict[str, Any]] = json.loads(out)
    assert [each["nodes"] for each in found] == [["controller"], ["worker"]]
    assert all(each["policy"]["Statement"] for each in found)


def test_a_role_without_a_group_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = printed(tmp_path, capsys, "--role", "login")
    assert (code, out) == (2, "")
    assert "dev has no login group" in err


def test_known_ids_are_not_left_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    existing = (
        "network:\n  zone: us-west-2b\n  existing:\n    vpc_id: vpc-0a1b2c3d4e5f60718\n"
        "    subnets: [{id: subnet-0a1b2c3d4e5f60718, zone: us-west-2b}]\n"
        "    security_group_ids: [sg-0a1b2c3d4e5f60718]\n"
    )
    text = SOUND.replace("network:\n  zone: us-west-2b\n  vpc_cidr: 10.0.0.0/16\n", existing)
    code, out, err = printed(tmp_path, capsys, text=text)
    assert code == 0
    assert "subnet/subnet-0a1b2c3d4e5f60718" in out
    assert "left open" not in err
