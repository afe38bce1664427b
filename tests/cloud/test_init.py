"""`slurmpod init` with an embedded AWS to look around in, and without any."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embedded_aws.clients import Clients
from embedded_aws.existing import Existing
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from slurmpod.reading.read import read
from slurmpod.rules.check import Sound, sound
from tests.cloud.embedded_stacks import ACCOUNT, REGION

VPC, SUBNET = "vpc-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60718"


@pytest.fixture(scope="module")
def account() -> Iterator[Clients]:
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        own = Existing(aws.clients())
        own.vpc(VPC, ["10.0.0.0/16"])
        own.subnet(SUBNET, VPC, cidr="10.0.0.0/20", zone="usw2-az1")
        yield aws.clients()


Init = Callable[..., tuple[int, str, str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "mine.yaml"


@pytest.fixture
def init(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Init:
    monkeypatch.chdir(file.parents[1])
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def command(*options: str) -> tuple[int, str, str]:
        code = run(["init", "config/mine.yaml", *options])
        return code, *capsys.readouterr()

    return command


def written(file: Path) -> Sound:
    found = sound(read(file))
    assert found.warnings == ()
    return found


def test_an_account_answers_what_nobody_says(account: Clients, init: Init, file: Path) -> None:
    code, out, err = init()
    assert code == ExitCode.OK, err
    resolved = written(file).resolved
    assert (resolved.name, resolved.account, resolved.region) == ("mine", ACCOUNT, REGION)
    assert resolved.network.zone == "usw2-az1"
    assert str(resolved.network.vpc_cidr) == "10.1.0.0/16"  # 10.0.0.0/16 is taken
    assert "2 x ml.m5.xlarge in usw2-az1 of us-west-2, in a new VPC, 10.1.0.0/16" in out
    assert "next: slurmpod preflight config/mine.yaml" in err


def test_quotas_that_do_not_suffice_are_told_at_their_lines(
    account: Clients, init: Init, file: Path
) -> None:
    code, _, err = init("--instance-type", "ml.p5.48xlarge", "--count", "4")
    assert code == ExitCode.OK
    assert "the quota 'ml.p5.48xlarge for cluster usage' is 0; this needs 4 [PRE-101]" in err
    assert written(file).resolved.groups[2].count == 4


def test_a_vpc_of_ones_own(account: Clients, init: Init, file: Path) -> None:
    code, _, err = init("--vpc", VPC, "--zone", "usw2-az2")
    assert (code, file.exists()) == (ExitCode.FAILED, False)
    assert f"{VPC} has no private subnet in usw2-az2: it has some in usw2-az1" in err
    assert init("--vpc", VPC, "--zone", "us-west-2b")[0] == ExitCode.OK
    (subnet,) = written(file).resolved.network.private
    assert (subnet.id, str(subnet.cidr)) == (SUBNET, "10.0.0.0/20")


def test_a_person_is_asked_and_shown_what_there_is(
    account: Clients, init: Init, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = io.StringIO("lab\n\nml.g5.12xlarge\n3\n\nusw2-az2\n\n")
    monkeypatch.setattr(answers, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", answers)
    code, _, err = init()
    assert code == ExitCode.OK, err
    assert "usw2-az1 (us-west-2b, with the type)" in err
    assert f"{VPC} (10.0.0.0/16) [new]: " in err
    resolved = written(file).resolved
    assert (resolved.name, resolved.groups[2].count) == ("lab", 3)


def test_answers_that_end_write_nothing(
    account: Clients, init: Init, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for said in ("lab\n", "lab\n\n\nmany\n"):
        answers = io.StringIO(said)
        monkeypatch.setattr(answers, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", answers)
        code, _, err = init()
        assert (code, file.exists()) == (ExitCode.FAILED, False)
        assert "nothing was written" in err


def test_a_file_that_is_there_stays(account: Clients, init: Init, file: Path) -> None:
    file.parent.mkdir()
    file.write_text("mine")
    code, _, err = init()
    assert (code, file.read_text()) == (ExitCode.USAGE, "mine")
    assert "already exists" in err


def test_values_that_cannot_be_are_told_as_validate_does(
    account: Clients, init: Init, file: Path
) -> None:
    code, _, err = init("--zone", "us-east-1a", "--instance-type", "ml.m5.xlrage")
    assert (code, file.exists()) == (ExitCode.INVALID, False)
    assert "[REG-002]" in err
    assert "ml.m5.xlrage" in err


@pytest.mark.parametrize("lacking", ["AWS_ACCESS_KEY_ID"])
def test_without_credentials_and_a_terminal_all_missing_options_are_told(
    account: Clients, init: Init, file: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    monkeypatch.delenv(lacking)
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    code, _, err = init()
    assert (code, file.exists()) == (ExitCode.USAGE, False)
    assert all(f"  --{option}: " in err for option in ("region", "account", "zone"))
    code, _, err = init("--region", "eu-west-1", "--account", ACCOUNT, "--zone", "euw1-az1")
    assert code == ExitCode.OK
    assert "the account is not checked" in err
    assert written(file).resolved.region == "eu-west-1"
    assert "next: slurmpod validate config/mine.yaml" in err


def test_what_may_not_be_seen_is_told(
    account: Clients, init: Init, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.iam.create_user(UserName="nobody")
    key = account.iam.create_access_key(UserName="nobody")["AccessKey"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    code, _, err = init("--zone", "usw2-az1")
    assert code == ExitCode.OK
    assert err.count("cannot look for ") == 4
    assert written(file).resolved.account == ACCOUNT
