"""`slurmpod job lint`: what is printed, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from tests.sound_environment import SOUND

GOOD = "#!/bin/bash\n#SBATCH --partition=cpu\nsrun hostname\n"
BAD = GOOD.replace("cpu", "gpu") + "export RDMAV_FORK_SAFE=1\n#SBATCH -N 2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.sbatch").write_text(GOOD)
    (tmp_path / "bad.sbatch").write_text(BAD)
    (tmp_path / "dev.yaml").write_text(SOUND)
    return tmp_path


def test_a_sound_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(folder / "good.sbatch")
    assert run(["job", "lint", file, "--env", str(folder / "dev.yaml")]) == ExitCode.OK
    assert capsys.readouterr().out == (
        f"no training was recognized in {file}: whether it resumes after a node is replaced was "
        "not checked\n1 script: no problems in the rest\n"
    )


def test_a_training_without_problems(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "train.sbatch"
    file.write_text("#!/bin/bash\n#SBATCH --open-mode=append\nsrun torchrun train.py\n")
    assert run(["job", "lint", str(file)]) == ExitCode.OK
    assert capsys.readouterr().out == "1 script: no problems\n"


def test_problems_say_where_and_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / name) for name in ("good.sbatch", "bad.sbatch")]
    assert run(["job", "lint", *files]) == ExitCode.INVALID
    output = capsys.readouterr().out
    assert f"{files[1]}:4:8: warning: RDMAV_FORK_SAFE can break EFA [JOB-030]" in output
    assert "  fix: move it above the first command\n" in output
    assert output.endswith("2 scripts: 1 error, 1 warning\n")


@pytest.mark.parametrize(
    ("rest", "line", "said"),
    [
        ("if true; then\n  srun hostname\n", 6, "syntax error: unexpected end of file"),
        ("srun hostname)\ntrue\n", 5, "syntax error near unexpected token `)'"),
        ("cat <<END\nsrun\n", 6, "here-document at line 5 delimited by end-of-file"),
    ],
)
def test_what_bash_cannot_read_is_named_by_bash_itself(
    folder: Path, capsys: pytest.CaptureFixture[str], rest: str, line: int, said: str
) -> None:
    file = folder / "broken.sbatch"
    file.write_text(f"{GOOD}\n{rest}")
    assert run(["job", "lint", str(file)]) == ExitCode.INVALID
    assert f"{file}:{line}:1: error: {said}" in capsys.readouterr().out


def test_bash_runs_nothing_of_a_script_that_it_reads(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = folder / "trap"
    trap.write_text(f"touch {folder}/ran\n")
    monkeypatch.setenv("BASH_ENV", str(trap))
    file = folder / "x.sbatch"
    file.write_text(f"{GOOD}touch {folder}/ran\n: $(touch {folder}/ran)\n")
    assert run(["job", "lint", str(file)]) == ExitCode.OK
    assert not (folder / "ran").exists()


def test_what_is_for_another_shell_is_no_matter_of_bash(folder: Path) -> None:
    file = folder / "x.sbatch"
    file.write_text(GOOD.replace("bash", "zsh") + "if (true) { srun hostname }\n")
    assert run(["job", "lint", str(file)]) == ExitCode.OK


def test_an_environment_in_place_of_a_script_is_named_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / name) for name in ("dev.yaml", "good.sbatch")]
    assert run(["job", "lint", *files]) == ExitCode.INVALID
    output = capsys.readouterr().out
    assert f"{files[0]}:1:1: error: this is YAML, not a batch script [JOB-001]" in output
    assert "  fix: name an environment with --env\n" in output
    assert f"no training was recognized in {files[1]}:" in output


def test_warnings_are_passed(folder: Path) -> None:
    file = folder / "warned.sbatch"
    file.write_text(GOOD + "export RDMAV_FORK_SAFE=1\n")
    assert run(["job", "lint", str(file)]) == ExitCode.OK


def test_notes_are_counted_on_their_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "short.sbatch"
    directives = "#SBATCH -N 2 --exclusive --open-mode=append --time=60"
    file.write_text(f"#!/bin/bash\n{directives}\nsrun --auto-resume=1 ./x\n")
    assert run(["job", "lint", str(file)]) == ExitCode.OK
    assert capsys.readouterr().out.endswith("1 script: 1 note\n")


def test_scripts_beside_the_batch_script_are_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "wide.sbatch"
    file.write_text("#!/bin/bash\n#SBATCH -N 2 --open-mode=append\nsrun ./run.sh\n")
    assert run(["job", "lint", str(file)]) == ExitCode.OK
    (folder / "run.sh").write_text("torchrun x.py\n")
    assert run(["job", "lint", str(file)]) == ExitCode.OK
    output = capsys.readouterr().out
    assert output.startswith("no training was recognized")
    assert "[JOB-011]" in output


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(folder / "bad.sbatch")
    command = ["job", "lint", file, "--json", "--env", str(folder / "dev.yaml")]
    assert run(command) == ExitCode.INVALID
    shown = json.loads(capsys.readouterr().out)
    assert shown["files"] == shown["without_training"] == [file]
    assert [problem["rule"] for problem in shown["problems"]] == ["JOB-040", "JOB-030", "JOB-004"]


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"#!" * 600_000])
def test_a_file_that_cannot_be_read(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "odd.sbatch"
    if content:
        file.write_bytes(content)
    assert run(["job", "lint", str(file)]) == ExitCode.INVALID
    assert "[JOB-001]" in capsys.readouterr().out


def test_an_environment_with_errors_comes_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "dev.yaml").write_text("name: dev\n")
    command = ["job", "lint", str(folder / "bad.sbatch"), "--env", str(folder / "dev.yaml")]
    assert run(command) == ExitCode.INVALID
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "ENV-002" in captured.err
