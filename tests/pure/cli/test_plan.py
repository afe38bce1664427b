"""`slurmpod plan` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurmpod.changes.compare import changes
from slurmpod.cli import diff, plan
from slurmpod.cli.main import run
from slurmpod.deployment_record import read_record, record
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.deployed import Deployed
from slurmpod.operations.difference import Difference
from slurmpod.plan.costs import Certainty
from slurmpod.plan.prices import Item
from slurmpod.problems import ExitCode
from slurmpod.reading.extends import environment_files
from slurmpod.reading.read import Reading, read_as
from slurmpod.resolve import resolve
from slurmpod.rules.check import Sound
from tests.golden_files import ROOT
from tests.pure.plan.planned import price
from tests.sound_environment import SOUND, sound_with

P5 = str(ROOT / "environments" / "p5-prod.yaml")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "dev.yaml"
    found.write_text(SOUND)
    return found


def test_the_production_example_by_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", P5]) == ExitCode.OK
    shown = capsys.readouterr()
    lines = {(line.split() or [""])[0]: line.split() for line in shown.out.splitlines()[:14]}
    assert lines["p5"][-3:] == ["4,227.07", "101,449.73", "3,085,762.56"]
    assert lines["/fsx"][-3:] == ["17.88", "429.24", "13,056.00"]
    assert "p5-prod-cluster: 8 to 20 minutes" in shown.out
    assert "2067 of 32763 taken; room for more nodes: 959 of p5" in shown.out
    assert "  on nodes of controller, login, worker\n" in shown.out
    assert "logs:CreateLogStream, logs:DescribeLogStreams and 1 more" in shown.out
    assert "prices of 2026-09-16: AWS's offer file" in shown.out
    assert shown.err.splitlines() == [
        f"next: slurmpod plan --prices live {P5}",
        f"next: slurmpod rehearse {P5}",
    ]


def test_the_page_shows_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command, _, shown = (
        (ROOT / "docs/plan.md").read_text().split("```")[1].partition("\n$ ")[2].partition("\n")
    )
    assert run(command.split()[1:]) == ExitCode.OK
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("example", environment_files(ROOT / "environments" / "examples"), ids=str)
def test_every_example_has_a_plan(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(example), "--json"]) == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert {each["certainty"] for each in data["costs"]} <= set(Certainty)
    assert all(
        (each["usd_per_hour"] is None) == (each["price_source"] is None) for each in data["costs"]
    )


def test_the_same_as_data(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(file), "--json"]) == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    nat = next(each for each in data["costs"] if each["name"] == "NAT")
    assert (nat["usd_per_hour"], nat["usd_per_month"]) == ("0.0450", "32.8500")
    lustre = next(each for each in data["costs"] if each["name"] == "/fsx")
    assert (lustre["usd_per_hour"], lustre["stays"]) == ("0.3452", True)
    assert lustre["price_source"] == "fsx-us-west-2"
    assert data["total"]["is_least"]
    assert data["deployment"][-1] == {"stack": "dev-cluster", "minutes": [8, 20]}
    named = {each["name"] for each in data["price_sources"]}
    assert {each["price_source"] for each in data["costs"]} - {None} == named


def test_prices_of_today_take_the_place_of_bundled_ones(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def live(_: object, region: str) -> tuple[Any, ...]:
        return (price(Item.NODE, "ml.m5.large", "9.5"),) if region == "us-west-2" else ()

    monkeypatch.setattr("slurmpod.aws.price_list.live_prices", live)
    assert run(["plan", str(file), "--prices", "live"]) == ExitCode.OK
    shown = capsys.readouterr()
    assert "9.50" in shown.out
    assert "prices of 2026-11-23: this test" in shown.out
    assert "--prices live" not in shown.err


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_difference_to_what_is_deployed_is_that_of_diff(
    form: list[str],
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = read_as("dev.yaml", sound_with("zone: us-west-2b", "zone: us-west-2a")).environment
    assert before

    def compared(wanted: Sound) -> Difference:
        recorded = read_record(record(resolve(Reading(before))))
        found = changes(recorded, wanted.resolved)
        return Difference(
            wanted.resolved, Deployed(recorded, ("dev-cluster",), has_cluster=True), found
        )

    monkeypatch.setattr(diff, "difference_of", compared)
    assert run(["plan", str(file), "--deployed", *form]) == ExitCode.FAILED
    shown = capsys.readouterr()
    assert "AWS rejects the changes marked 'refused'" in shown.err
    if form:
        (change,) = json.loads(shown.out)["difference"]["changes"]
        assert (change["path"], change["kind"]) == ("network.zone", "refused")
    else:
        assert 'refused: network.zone: "us-west-2a" -> "us-west-2b"' in shown.out
        assert shown.out.endswith("dev: 1 change\n")


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("has_cluster", [True, False])
def test_jobs_that_outlast_patches_are_asked_of_a_cluster_that_is_there(
    form: list[str],
    has_cluster: bool,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file.write_text(
        sound_with("partition: cpu", "partition: cpu\n      auto_patch: {strategy: WhenIdle}")
    )

    def same(wanted: Sound) -> Difference:
        recorded = read_record(record(wanted.resolved))
        deployed = Deployed(recorded, ("dev-cluster",), has_cluster=has_cluster)
        return Difference(wanted.resolved, deployed, ())

    monkeypatch.setattr(diff, "difference_of", same)
    monkeypatch.setattr(plan, "asked", lambda _: Unavailable("slurmctld is down"))
    assert run(["plan", str(file), "--deployed", *form]) == ExitCode.OK
    shown = capsys.readouterr().out
    if form:
        expected = {"unread": "slurmctld is down"} if has_cluster else []
        assert json.loads(shown)["patches"] == expected
    else:
        assert ("outlast them is unknown: slurmctld is down" in shown) == has_cluster


def test_an_environment_with_errors_is_not_planned(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(sound_with("role: worker", "role: wroker"))
    assert run(["plan", str(file)]) == ExitCode.INVALID
    assert "USD" not in capsys.readouterr().out
