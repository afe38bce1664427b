"""What bash completes with the script that `slurmpod completion bash` prints."""

from __future__ import annotations

import subprocess

import pytest

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode

ASK = """
complete_line() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _slurmpod
    echo "${COMPREPLY[*]}"
}
"""


@pytest.fixture(scope="module", name="script")
def _script() -> str:
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("sys.stdout.write", printed.append)
        assert run(["completion", "bash"]) == ExitCode.OK
    return "".join(printed)


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        (["slurmpod", "va"], "validate"),
        (["slurmpod", "--v"], "--version"),
        (["slurmpod", "rehearsal", "s"], "shell"),
        (["slurmpod", "rehearsal", "shell", "login", "--u"], "--user"),
        (["slurmpod", "rehearse", "dev.yaml", "--fault", "clock"], "clock-skew"),
        (["slurmpod", "rehearse", "dev.yaml", "--fault", "all", "--ke"], "--keep"),
        (["slurmpod", "validate", "environments/d"], ""),
    ],
)
def test_bash_completes(script: str, line: list[str], completed: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'{script}{ASK}complete_line "$@"', "bash", *line],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == (f"{completed}\n", "")
