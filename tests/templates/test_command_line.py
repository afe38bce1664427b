"""app.py as people meet it: through the CDK command line, and with mistakes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import app
from slurmpod.operations.deploy.kept_assemblies import TAKEN
from slurmpod.problems import ExitCode
from tests.environment_files import EXAMPLES, FILES
from tests.sound_environment import SOUND
from tests.templates.synthesis import CONTEXT, ROOT, Synthesized

CDK = ROOT / "node_modules" / ".bin" / "cdk"


def run(monkeypatch: pytest.MonkeyPatch, **context: str) -> ExitCode:
    monkeypatch.setenv("CDK_CONTEXT_JSON", json.dumps({**CONTEXT, **context}))
    return app.main()


def cdk_synth(environment: str, output: Path) -> subprocess.CompletedProcess[str]:
    """Synthesize; what is kept is kept beside the output."""
    command = [str(CDK), "synth", "--quiet", "--strict", "--no-lookups", "-c", f"env={environment}"]
    kept = {"SLURMPOD_HOME": str(output.parent / "home")}
    return subprocess.run(
        [*command, "--output", str(output)],
        cwd=ROOT,
        env={**os.environ, **kept, "PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu"},
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
    first, again = (cdk_synth(str(file), tmp_path / name) for name in ("first", "again"))
    for done in (first, again):
        assert done.returncode == 0, done.stdout
        assert "[REG-004]" in done.stdout, "warnings are told also where nothing is made anew"
    assert [TAKEN in done.stdout for done in (first, again)] == [False, True]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("synthesized") / "out"


@pytest.fixture(scope="module")
def done(output: Path) -> subprocess.CompletedProcess[str]:
    return cdk_synth("dev,p5-prod", output)


@needs_the_cdk
def test_cdk_synth_makes_the_templates_of_these_tests_without_a_word(
    dev: Synthesized,
    p5_prod: Synthesized,
    output: Path,
    done: subprocess.CompletedProcess[str],
) -> None:
    """Two processes, one of them with the real feature flags: equal templates, equal assets."""
    templates = {
        stack.stack_name: stack.template
        for each in (dev, p5_prod)
        for stack in each.stacks.values()
    }
    assert done.returncode == 0, done.stdout
    synthesized = {
        name: json.loads((output / f"{name}.template.json").read_text()) for name in templates
    }
    # With several stacks the CLI says these two lines even when it is to be quiet.
    first, second = done.stdout.strip().splitlines()
    assert first == f"Successfully synthesized to {output}"
    assert second.startswith("Supply a stack id (dev-network, ")
    assert synthesized == templates


@needs_the_cdk
@pytest.mark.usefixtures("done")
def test_a_second_synthesis_of_the_same_files_gives_the_same_assembly(output: Path) -> None:
    """To the byte, all assets included, whatever the files are called by."""
    files = ",".join(str(FILES[name]) for name in ("dev", "p5-prod"))
    again = cdk_synth(files, output.with_name("again"))
    assert again.returncode == 0, again.stdout
    assert TAKEN in again.stdout
    assert files_of(output.with_name("again")) == files_of(output)


def files_of(assembly: Path) -> dict[str, tuple[bytes, int]]:
    """Return content and mode of all files but those that the command line makes for itself."""
    return {
        file.relative_to(assembly).as_posix(): (file.read_bytes(), file.stat().st_mode)
        for file in assembly.rglob("*")
        if file.is_file() and file.suffix != ".lock" and file.name != "performance-counters.json"
    }


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


def test_the_mistakes_of_all_files_are_shown_together_and_nothing_is_synthesized(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("slurmpod_cdk.build.build_app", never)
    files = [tmp_path / "one.yaml", tmp_path / "other.yaml"]
    for file, wrong in zip(files, ("capacity_gib: 3600", "capacity_gib: many"), strict=True):
        file.write_text(SOUND.replace("capacity_gib: 1200", wrong))
    assert run(monkeypatch, env=f"{files[0]}, dev, {files[1]}") is ExitCode.INVALID
    said = capsys.readouterr().err
    assert [f"{file}:" in said for file in files] == [True, True]


def test_two_files_with_the_same_name_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("slurmpod_cdk.build.build_app", never)
    other = tmp_path / "other.yaml"
    other.write_text(SOUND.replace("us-west-2", "us-east-2").replace("usw2", "use2"))
    assert run(monkeypatch, env=f"dev,{other}") is ExitCode.INVALID
    said = capsys.readouterr().err
    assert said.count("[ENV-008]") == 1
    assert f"{other} describes 'dev', and so does environments/dev.yaml" in said


def never(*_: object, **__: object) -> None:
    pytest.fail("nothing is built from mistakes")


@pytest.mark.parametrize(
    ("written", "files"),
    [
        ("dev", ["environments/dev.yaml"]),
        ("p5-prod, dev,p5-prod,", ["environments/p5-prod.yaml", "environments/dev.yaml"]),
        ("examples/managed", ["environments/examples/managed.yaml"]),
        ("environments/examples/managed.yaml", ["environments/examples/managed.yaml"]),
        ("dev,other.yml,my/own", ["environments/dev.yaml", "other.yml", "my/own"]),
        ("all", [str(file.relative_to(ROOT)) for file in FILES.values()]),
        ("dev,prod", []),
        (",", []),
        (None, []),
    ],
)
def test_environments_are_chosen_by_name_by_path_or_all_together(
    monkeypatch: pytest.MonkeyPatch, written: str | None, files: list[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert app.environment_paths(written) == [Path(file) for file in files]


def test_an_installed_app_has_no_environments_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(app, "ENVIRONMENTS", tmp_path / "environments")
    assert run(monkeypatch, env="all") is ExitCode.USAGE
    said = capsys.readouterr().err
    assert said.endswith("write the path of a YAML file: npx cdk synth -c env=PATH\n")


def test_a_file_may_have_a_comma_in_its_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "a,b" / "dev.yaml"
    file.parent.mkdir()
    file.touch()
    assert app.environment_paths(str(file)) == [file]


def test_a_file_that_is_not_there_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, env=str(tmp_path / "none.yaml")) is ExitCode.INVALID
    assert "cannot read the file" in capsys.readouterr().err


def test_a_feature_flag_that_cdk_json_lacks_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flag = "@aws-cdk/core:defaultCrossStackReferences"
    assert run(monkeypatch, env="dev", **{flag: "strong"}) is ExitCode.USAGE
    said = capsys.readouterr().err
    assert f'{json.dumps(flag)}: "weak"' in said
    assert "minimizePolicies" not in said
    assert "cdk.json" in said


def test_findings_stop_the_deployment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "slurmpod_cdk.nag.review.review", lambda _: ("dev/X: AwsSolutions-X1: something",)
    )
    assert run(monkeypatch, env="dev") is ExitCode.FAILED
    assert "AwsSolutions-X1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("protected", "account", "code"),
    [
        ("true", "123456789012", ExitCode.FAILED),
        ("true", "", None),
        ("false", "123456789012", None),
    ],
)
def test_only_what_is_protected_asks_aws_and_only_with_credentials(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    protected: str,
    account: str,
    code: ExitCode | None,
) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(f"{SOUND}protected: {protected}\n")
    monkeypatch.delenv("CDK_DEFAULT_ACCOUNT", raising=False)
    if account:
        monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", account)
    monkeypatch.setattr("slurmpod_cdk.build.build_app", built)
    monkeypatch.setattr("slurmpod.cli.protection.refusals", lambda *_: ["refused: dev"])
    if code is None:
        with pytest.raises(Built):
            run(monkeypatch, env=str(file))
        return
    assert run(monkeypatch, env=str(file)) is code
    assert capsys.readouterr().err.endswith("refused: dev\n")


class Built(Exception):
    """Templates would have been made."""


def built(*_: object, **__: object) -> None:
    raise Built
