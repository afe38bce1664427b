"""`slurmpod capacity` against an embedded AWS: plans are found, bought, shown and extended."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from tests.cloud.embedded_stacks import ACCOUNT, REGION
from tests.golden_files import ROOT
from tests.pure.cli.test_printed_commands import own_commands
from tests.sound_environment import SOUND

P5 = (
    SOUND.replace("123456789012", ACCOUNT)
    .replace("zone: us-west-2b", "zone: usw2-az2")
    .replace("ml.m5.xlarge", "ml.p5.48xlarge")
)
"""Two workers in usw2-az2, which this account calls us-west-2a."""


PAGE = "docs/capacity.md"


class Shell:
    """Commands on an environment with two workers of a type that plans have."""

    def __init__(self, file: Path, aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file, self._monkeypatch = file, monkeypatch
        self.sagemaker: Any = aws.clients().sagemaker

    def __call__(self, *words: str, typed: str = "") -> int:
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        return run(["capacity", *(word.replace("FILE", str(self.file)) for word in words)])

    def plans(self) -> dict[str, Any]:
        found = self.sagemaker.list_training_plans()["TrainingPlanSummaries"]
        return {plan["TrainingPlanName"]: plan for plan in found}


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    file = tmp_path / "p5.yaml"
    file.write_text(P5)
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        yield Shell(file, aws, monkeypatch)


def test_offers_come_with_zone_dates_and_price(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    begins = (datetime.now(UTC) + timedelta(days=30)).replace(minute=0, second=0, microsecond=0)
    searched = shell("search", "FILE", "workers", "--days", "7", "--from", begins.isoformat())
    shown = capsys.readouterr()

    assert searched == ExitCode.OK
    assert "2 nodes of ml.p5.48xlarge for 7 days: " in shown.err
    first, second = shown.out.split("tpo-")[1:3]
    assert "  3,360.00 USD  (10.00 USD per node-hour)" in first
    ends = begins + timedelta(days=7)
    assert f"us-west-2a  {begins:%Y-%m-%d %H:%M} to {ends:%Y-%m-%d %H:%M} UTC" in first
    assert "not in the zone" not in first
    assert "not in the zone of workers (us-west-2a)" in second
    assert f"--days 7 --from {begins.isoformat()}" in shown.err


def test_nodes_of_ultraservers_are_searched_for_as_these_are_sold(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.file.write_text(P5.replace("ml.p5.48xlarge", "ml.p6e-gb200.36xlarge"))
    assert shell("search", "FILE", "workers", "--nodes", "18", "--json") == ExitCode.OK
    offers = json.loads(capsys.readouterr().out)
    assert {each["server"] for each in offers} == {"ml.u-p6e-gb200x36", "ml.u-p6e-gb200x72"}
    assert {each["nodes"] for each in offers} == {18}
    assert shell("search", "FILE", "workers", "--nodes", "9") == ExitCode.OK
    assert re.search(r"^tpo-\S+  ml.u-p6e-gb200x36  2,160.00 USD", capsys.readouterr().out)
    assert shell("search", "FILE", "workers", "--nodes", "2") != ExitCode.OK
    assert "UltraServers of 9 (ml.u-p6e-gb200x36) or 18" in capsys.readouterr().err


def bought(shell: Shell, capsys: pytest.CaptureFixture[str], *more: str, typed: str = "") -> int:
    """Buy the first offer for ten nodes and two days."""
    wanted = ("--days", "2", "--nodes", "10")
    assert shell("search", "FILE", "workers", *wanted, "--json") == ExitCode.OK
    offer, *_ = json.loads(capsys.readouterr().out)
    assert offer["fee"] == {"amount": "4800.00", "currency": "USD"}
    return shell("buy", "FILE", "workers", offer["id"], "june", *wanted, *more, typed=typed)


@pytest.mark.parametrize(
    ("more", "typed", "is_bought"),
    [
        ((), "4800.00\n", True),
        ((), "4,800\n", True),
        (("--pay", "4800"), "", True),
        ((), "yes\n", False),
        ((), "480.00\n", False),
        (("--pay", "4799.99"), "4800.00\n", False),
    ],
)
def test_only_the_sum_buys(
    shell: Shell,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    typed: str,
    is_bought: bool,
) -> None:
    code = bought(shell, capsys, *more, typed=typed)
    shown = capsys.readouterr()

    assert "10 nodes of ml.p5.48xlarge" in shown.err
    assert "4,800.00 USD are due now, and a purchase cannot be undone" in shown.err
    assert (code == ExitCode.OK, "june" in shell.plans()) == (is_bought, is_bought)
    if is_bought:
        arn = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-plan/june"
        assert shown.out == f"{arn}\n"
        assert f"add to the group workers: training_plan_arn: {arn}" in shown.err
    else:
        assert "that is not the price: nothing was bought" in shown.err


def test_plans_are_shown_with_their_end_and_the_groups_that_use_them(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell("show", "FILE") == ExitCode.OK
    assert "there are no training plans in us-west-2" in capsys.readouterr().out
    bought(shell, capsys, "--pay", "4800")
    arn = capsys.readouterr().out.strip()
    partition = "partition: cpu"
    shell.file.write_text(P5.replace(partition, f"{partition}\n      training_plan_arn: {arn}"))

    assert shell("show", "FILE") == ExitCode.OK
    shown = capsys.readouterr()
    assert shown.out.startswith("june  Active  0 of 10 ml.p5.48xlarge in use  us-west-2a\n")
    assert re.search(r" UTC, 4[78] hours left; groups here: workers\n", shown.out)
    assert (
        "AWS begins to reclaim the nodes, with their running jobs, 30 minutes before the end"
        in shown.err
    )


def test_a_plan_is_extended_by_the_sum(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    bought(shell, capsys, "--pay", "4800")
    ends = shell.plans()["june"]["EndTime"]
    capsys.readouterr()
    assert shell("extend", "FILE", "june", "--days", "3", typed="y\n") == ExitCode.FAILED
    assert shell.plans()["june"]["EndTime"] == ends
    assert "nothing was bought" in capsys.readouterr().err

    assert shell("extend", "FILE", "june", "--days", "3", typed="7200.00\n") == ExitCode.OK
    assert shell.plans()["june"]["EndTime"] == ends + timedelta(days=3)
    capsys.readouterr()
    assert shell("show", "FILE", "--json") == ExitCode.OK
    (plan,) = json.loads(capsys.readouterr().out)
    (extension,) = plan["extensions"]
    assert (extension["hours"], extension["payment"]) == (72, "Paid")
    assert Decimal(extension["fee"]["amount"]) == 7200


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("search", "FILE", "gpu"), "dev has no group 'gpu'", ExitCode.USAGE),
        (("search", "FILE", "controller"), "plans have no ml.m5.large", ExitCode.FAILED),
        (("search", "FILE", "workers", "--from", "soon"), "is not a date", ExitCode.USAGE),
        (("buy", "FILE", "workers", "tpo-1", "june"), "is not offered", ExitCode.FAILED),
        (("extend", "FILE", "june", "--days", "3"), "there is no training plan", ExitCode.FAILED),
        (("extend", "FILE", "june", "--days", "15"), "by whole weeks up to 182", ExitCode.USAGE),
    ],
)
def test_what_cannot_be_is_said(
    shell: Shell,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
    code: ExitCode,
) -> None:
    assert shell(*words) == code
    assert said in capsys.readouterr().err
    assert shell.plans() == {}


def test_the_commands_of_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    resolved = sound_environment(ROOT / "environments/p5-prod.yaml").resolved
    with EmbeddedAws(account=resolved.account, region=resolved.region) as aws:
        aws.start(CloudOnlyPlatform())
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        fees: dict[str, str] = {}
        for words in own_commands(PAGE):
            if words[1] == "search":
                capsys.readouterr()
                assert run([*words, "--json"]) == ExitCode.OK, words
                offers = json.loads(capsys.readouterr().out)
                fees |= {offer["id"]: offer["fee"]["amount"] for offer in offers}
                first = next(iter(fees))
            given = [first if word.startswith("tpo-") else word for word in words]
            due = {"buy": fees[first], "extend": str(Decimal(fees[first]) / 2)}
            monkeypatch.setattr(sys, "stdin", io.StringIO(due.get(words[1], "")))
            assert run(given) == ExitCode.OK, capsys.readouterr().err
    assert {words[1] for words in own_commands(PAGE)} == {"search", "buy", "show", "extend"}


def test_without_an_offer_it_is_said_what_to_try(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    assert shell("search", "FILE", "workers", "--days", "9", "--until", tomorrow) == ExitCode.FAILED
    assert "0 offers\ntry fewer nodes, other dates or fewer days" in capsys.readouterr().err
