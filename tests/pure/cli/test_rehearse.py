from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from slurmpod.cli import main, patch, rehearse
from slurmpod.cli.rehearse import add_arguments, run
from slurmpod.platform_profiles.canary import NotProven
from slurmpod.problems import ExitCode, InvalidEnvironment, WorkFailed
from slurmpod.rehearsal.faults.fault import FaultReport, Need
from slurmpod.rehearsal.faults.registry import FAULTS
from slurmpod.rehearsal.faults.watch import Moment, Stage
from slurmpod.rehearsal.nodes import preparation
from slurmpod.rehearsal.nodes.errors import BakeFailed
from slurmpod.rehearsal.processes import Host, RehearsalFailed
from slurmpod.rehearsal.rehearse import Options, Outcome
from slurmpod.rehearsal.state import Request
from tests.golden_files import ROOT
from tests.nodes.drill_job import drill_job
from tests.sound_environment import sound_with

EXTENDED = str(ROOT / "environments" / "examples" / "extended.yaml")
DEV = str(ROOT / "environments" / "dev.yaml")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([EXTENDED, "--fault", "network-lost"], "slurmpod's own scripts must start Slurm"),
        ([DEV, "--fault", "clock-skew", "--cloud-only"], "nodes are required"),
    ],
)
def test_faults_that_cannot_be_tried_are_refused_before_anything_starts(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = ArgumentParser()
    add_arguments(parser)
    assert run(parser.parse_args(arguments)) is ExitCode.USAGE
    assert f"--fault: {reason}" in capsys.readouterr().err


def test_nodes_of_an_unknown_type_are_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = tmp_path / "newer.yaml"
    newer.write_text(sound_with("ml.m5.xlarge", "ml.p9.48xlarge"))
    parser = ArgumentParser()
    add_arguments(parser)
    assert run(parser.parse_args([str(newer), "--cloud-only"])) is ExitCode.FAILED
    assert "cannot be rehearsed: ml.p9.48xlarge" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_refused_before_anything_starts(tmp_path: Path) -> None:
    mine = tmp_path / "notes.html"
    mine.write_text("mine")
    parser = ArgumentParser()
    add_arguments(parser)
    with pytest.raises(WorkFailed, match="is not a slurmpod report"):
        run(parser.parse_args([DEV, "--report", str(mine)]))
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["--fault", "many-joining"],
            "--fault: no job can be drilled with many-joining; faults for",
        ),
        (
            [],
            "--job needs a fault to inject: --fault NAME; faults for running jobs: worker-",
        ),
    ],
)
def test_a_job_needs_a_fault_that_can_be_done_to_it(
    arguments: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = str(drill_job(tmp_path / "job"))
    assert main.run(["rehearse", DEV, "--job", job, *arguments]) != ExitCode.OK
    assert reason in capsys.readouterr().err


def test_what_is_for_a_job_needs_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["rehearse", DEV, "--", "--steps", "3"]) == ExitCode.FAILED
    assert "need a job: --job FOLDER" in capsys.readouterr().err


def test_mistakes_in_a_job_are_told_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = drill_job(tmp_path / "job")
    script = (folder / "count.sbatch").read_text().replace("=cpu", "=gpu")
    (folder / "count.sbatch").write_text(script)
    arguments = ["rehearse", DEV, "--fault", "all", "--job", str(folder)]
    assert main.run(arguments) == ExitCode.INVALID
    assert "count.sbatch:3" in capsys.readouterr().err


def test_all_faults_upon_a_job_are_those_that_can_be_done_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Options] = []

    def rehearsed(*given: Any) -> Outcome:
        asked.append(given[2])
        return Outcome("http://localhost", (), (), "ip-10-0-0-5", None, (), 1.0, None)

    monkeypatch.setattr(rehearse, "missing", lambda _: ())
    monkeypatch.setattr(rehearse, "rehearse", rehearsed)
    job = str(drill_job(tmp_path / "job"))
    arguments = ["rehearse", DEV, "--fault", "all", "--job", job, "--python", "/p", "--", "40"]
    assert main.run(arguments) == ExitCode.OK
    (options,) = asked
    needs = (Need.CUSTOMER, Need.OTHER_ZONE, Need.PLAN)
    possible = [fault for fault in FAULTS if fault.need not in needs]
    assert options.faults == tuple(fault for fault in possible if fault.strike)
    assert options.job
    assert (options.job.arguments, options.job.python) == (("40",), "/p")


def test_an_unknown_fault_is_answered_with_all_names(capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    add_arguments(parser)
    with pytest.raises(SystemExit):
        parser.parse_args([DEV, "--fault", "flood"])
    assert "'worker-power-cut'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lost", "code"), [((), ExitCode.OK), (("job 7: its record",), ExitCode.FAILED)]
)
def test_what_a_fault_lost_is_a_failure(
    lost: tuple[str, ...],
    code: ExitCode,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ended = (Moment(1.0, Stage.RECOVERED, "all is well"),)
    report = FaultReport("clock-skew", "A clock", ended, lost, 1.0)
    outcome = Outcome("http://localhost", (), (), "ip-10-0-0-5", None, (report,), 1.0, None)
    monkeypatch.setattr(rehearse, "missing", lambda _: ())
    monkeypatch.setattr(rehearse, "rehearse", lambda *_: outcome)
    parser = ArgumentParser()
    add_arguments(parser)
    assert run(parser.parse_args([DEV, "--fault", "clock-skew"])) is code
    assert (lost or ("nothing",))[0] in capsys.readouterr().out


def test_without_the_cdk_nothing_starts_and_the_fix_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rehearse, "cdk_script", lambda: None)
    parser = ArgumentParser()
    add_arguments(parser)
    assert run(parser.parse_args([DEV, "--cloud-only"])) is ExitCode.UNPREPARED
    assert "fix: slurmpod prepare" in capsys.readouterr().err


def test_mistakes_in_profiles_are_told_before_anything_starts(tmp_path: Path) -> None:
    own = tmp_path / "cluster.yaml"
    own.write_text("slurm_conf:\n  login_node: true\n")
    parser = ArgumentParser()
    add_arguments(parser)
    with pytest.raises(InvalidEnvironment) as invalid:
        run(parser.parse_args([DEV, "--profile", str(own), "--profile", "shared"]))
    assert {problem.fix for problem in invalid.value.problems} == {
        "did you mean 'login_nodes'?",
        "did you mean 'shared-dev'?",
    }


@pytest.mark.parametrize("passes", [True, False])
def test_a_rehearsal_on_an_observed_image_proves_it_to_patch(
    passes: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    observed = tmp_path / "newer.yaml"
    observed.write_text("image: {slurm: '26.05'}\n")
    outcome = Outcome("http://localhost", (), (), "ip-10-0-0-5", None, (), 1.0, None)
    chosen: list[Options] = []

    def rehearsed(*given: Any) -> Outcome:
        chosen.append(given[2])
        if not passes:
            raise RehearsalFailed("scripts failed")
        return outcome

    monkeypatch.setattr(rehearse, "missing", lambda _: ())
    monkeypatch.setattr(rehearse, "rehearse", rehearsed)
    parser = ArgumentParser()
    add_arguments(parser)
    code = run(parser.parse_args([DEV, "--observed", str(observed)]))
    assert (code is ExitCode.OK) is passes
    assert chosen[0].profile.image.slurm == "26.05"
    said = capsys.readouterr().err
    assert (f"slurmpod patch {DEV} --after-canary {observed}" in said) is passes

    patching = ArgumentParser()
    patch.add_arguments(patching)
    monkeypatch.setattr(patch, "has_plugin", lambda: True)
    monkeypatch.setattr(patch, "live_cluster", begins)
    expected = Begun if passes else NotProven
    with pytest.raises(expected):
        patch.run(patching.parse_args([DEV, "--after-canary", str(observed)]))
    assert ("rehearsed on" in capsys.readouterr().err) is passes


class Begun(Exception):
    """A patch has begun."""


def begins(_: object) -> None:
    raise Begun


def test_the_nodes_are_of_the_profiles_that_were_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "cluster.yaml"
    own.write_text("slurm_conf: {lines: {MpiDefault: pmix}}\n")
    outcome = Outcome("http://localhost", (), (), "ip-10-0-0-5", None, (), 1.0, None)
    chosen: list[Options] = []

    def rehearsed(*given: Any) -> Outcome:
        chosen.append(given[2])
        return outcome

    monkeypatch.setattr(rehearse, "missing", lambda _: ())
    monkeypatch.setattr(rehearse, "rehearse", rehearsed)
    parser = ArgumentParser()
    add_arguments(parser)
    arguments = [DEV, "--profile", "returns-by-itself", "--profile", str(own)]
    assert run(parser.parse_args(arguments)) is ExitCode.OK
    lines = chosen[0].profile.slurm_conf.lines
    assert (lines["MpiDefault"], lines["ReturnToService"]) == ("pmix", "2")


@pytest.mark.parametrize(("profile", "slurm"), [("ami-2026-01", "24.11"), ("ami-2026-07", "26.05")])
def test_the_image_has_the_slurm_of_the_profile(
    profile: str,
    slurm: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def no_mirror(*given: Any) -> None:
        raise BakeFailed(f"no mirror for Slurm {given[-1]}")

    monkeypatch.setenv("SLURMPOD_HOME", str(tmp_path))
    monkeypatch.setattr(rehearse, "missing", lambda _: ())
    monkeypatch.setattr(preparation, "bake", no_mirror)
    parser = ArgumentParser()
    add_arguments(parser)
    assert run(parser.parse_args([DEV, "--profile", profile])) is ExitCode.FAILED
    assert f"no mirror for Slurm {slurm}" in capsys.readouterr().err


def test_a_patch_brings_the_newest_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Request] = []

    def start(request: Request) -> None:
        asked.append(request)
        raise RehearsalFailed("enough")

    monkeypatch.setenv("SLURMPOD_HOME", str(tmp_path))
    monkeypatch.setattr(rehearse, "missing", lambda _: ())
    monkeypatch.setattr(preparation, "bake", lambda *given: tmp_path / given[-1])
    monkeypatch.setattr(Host, "start", start)
    parser = ArgumentParser()
    add_arguments(parser)
    options = [DEV, "--profile", "ami-2026-01", "--newest", "ami-2026-07", "--keep"]
    assert run(parser.parse_args(options)) is ExitCode.FAILED
    (request,) = asked
    assert (Path(request.image).name, Path(request.newest_image).name) == ("24.11", "26.05")
    assert request.newest_profile
    assert request.newest_profile["auto_resume"]["in_place"] == "none"
