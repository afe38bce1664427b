"""app.py as people meet it: through the CDK command line, and with mistakes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import app
from slurmpod.problems import ExitCode
from tests.stacks.synthesis import EXAMPLES, ROOT, Synthesized

CDK = ROOT / "node_modules" / ".bin" / "cdk"


def run(monkeypatch: pytest.MonkeyPatch, **context: str) -> ExitCode:
    monkeypatch.setenv("CDK_CONTEXT_JSON", json.dumps(context))
    return app.main()


def cdk_synth(environment: str, output: Path) -> subprocess.CompletedProcess[str]:
    command = [str(CDK), "synth", "--quiet", "--strict", "--no-lookups", "-c", f"env={environment}"]
    return subprocess.run(
        [*command, "--output", str(output)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # which of the two the CLI writes to depends on CI=true
        text=True,
    )


needs_the_cdk = pytest.mark.skipif(
    not CDK.exists(), reason="the CDK command line is not installed: make setup"
)


@needs_the_cdk
def test_a_region_that_the_pinned_cdk_has_no_cluster_for_is_synthesized(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    text = (ROOT / "environments" / "dev.yaml").read_text()
    file.write_text(text.replace("us-west-2", "mx-central-1"))
    done = cdk_synth(str(file), tmp_path / "out")
    assert done.returncode == 0, done.stdout
    assert "[REG-004]" in done.stdout


@needs_the_cdk
def test_cdk_synth_makes_the_templates_of_these_tests_without_a_word(
    dev: Synthesized, tmp_path: Path
) -> None:
    """Two processes, one of them with the real feature flags: equal templates, equal assets."""
    done = cdk_synth("dev", tmp_path)
    synthesized = {
        name: json.loads((tmp_path / f"dev-{name}.template.json").read_text())
        for name in dev.templates
    }
    assert done.returncode == 0, done.stdout
    # With several stacks the CLI says these two lines even when it is to be quiet.
    first, second = done.stdout.strip().splitlines()
    assert first == f"Successfully synthesized to {tmp_path}"
    assert second.startswith("Supply a stack id (dev-network, ")
    assert synthesized == dev.templates


def test_without_an_environment_the_choices_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) is ExitCode.USAGE
    said = capsys.readouterr().err
    assert all(name in said for name in EXAMPLES)
    assert "npx cdk synth -c env=dev" in said


def test_an_unknown_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, env="prod") is ExitCode.USAGE
    assert "no environment 'prod'" in capsys.readouterr().err


def test_mistakes_in_the_file_are_shown_with_their_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = (ROOT / "environments" / "dev.yaml").read_text()
    file = tmp_path / "wrong.yaml"
    file.write_text(text.replace("capacity_gib: 1200", "capacity_gib: 3600"))
    assert run(monkeypatch, env=str(file)) is ExitCode.INVALID
    said = capsys.readouterr().err
    assert said.startswith(f"{file}:")
    assert "storage.lustre.capacity_gib" in said
    assert "Traceback" not in said


def test_a_file_that_is_not_there_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, env=str(tmp_path / "none.yaml")) is ExitCode.INVALID
    assert "cannot read the file" in capsys.readouterr().err


def test_findings_stop_the_deployment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slurmpod_cdk.nag.review", lambda _: ("dev/X: AwsSolutions-X1: something",))
    assert run(monkeypatch, env="dev") is ExitCode.FAILED
    assert "AwsSolutions-X1" in capsys.readouterr().err
