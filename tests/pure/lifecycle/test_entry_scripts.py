"""The entry scripts under a real bash, in a copy whose logs lie in a temporary folder."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden_files import ROOT

SCRIPTS = ROOT / "lifecycle_scripts"
SHARED = "set_up_node.sh"
ENTRIES = ["on_create.sh", "on_init_complete.sh"]
LOGS = "/var/log/provision"
FAKE_PYTHON = """\
#!/bin/sh
[ "$1" != -ISc ] || exit 0
echo "arguments: $*"
echo "in: $(pwd)" >&2
exit {status}
"""
OLD_PYTHON = f"""\
#!{sys.executable}
import sys
sys.version_info = (3, 7, 16)
assert sys.argv[1] == "-ISc", "it runs the program itself"
exec(sys.argv[2])
"""


@pytest.fixture(params=ENTRIES)
def entry(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return an entry script in a bundle, beside a folder `logs` that does not exist yet."""
    bundle = tmp_path / "a bundle"
    bundle.mkdir()
    for name in (request.param, SHARED):
        text = (SCRIPTS / name).read_text()
        assert text.count(LOGS) == (name == SHARED)
        (bundle / name).write_text(text.replace(LOGS, str(tmp_path / "logs")))
    return bundle / str(request.param)


def run(entry: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run the script as HyperPod does: no HOME, no terminal, no arguments."""
    commands = entry.parents[1] / "commands"
    commands.mkdir(exist_ok=True)
    (commands / "python3").write_text(python)
    (commands / "python3").chmod(0o755)
    return subprocess.run(
        ["bash", str(entry)],
        env={"PATH": f"{commands}:/usr/bin:/bin"},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("status", [0, 1, 42])
def test_the_exit_status_is_that_of_the_program(entry: Path, status: int) -> None:
    assert run(entry, FAKE_PYTHON.format(status=status)).returncode == status


def test_the_program_runs_in_the_bundle_and_gets_the_reports_path(entry: Path) -> None:
    output = run(entry, FAKE_PYTHON.format(status=0)).stdout
    assert f"arguments: -m slurmpod_lifecycle {entry.parents[1]}/logs/report.json\n" in output
    assert f"in: {entry.parent}\n" in output


def test_all_output_is_also_in_the_log_of_the_node_run_after_run(entry: Path) -> None:
    first = run(entry, FAKE_PYTHON.format(status=1)).stdout
    second = run(entry, FAKE_PYTHON.format(status=0)).stdout
    log = entry.parents[1] / "logs" / "provisioning.log"
    assert log.read_text() == first + second


@pytest.mark.parametrize("python", ["#!/no/such/interpreter\n", OLD_PYTHON])
def test_a_node_without_a_recent_python_fails_and_says_so(entry: Path, python: str) -> None:
    result = run(entry, python)
    assert result.returncode == 1
    last = result.stdout.splitlines()[-1]
    assert last.startswith("FAILED: this image has no Python 3.10 or later as python3; fix: use")


def test_a_dry_run_writes_nothing(entry: Path) -> None:
    commands = entry.parents[1] / "commands"
    run(entry, FAKE_PYTHON.format(status=0))
    logs = entry.parents[1] / "logs"
    before = {file: file.read_text() for file in logs.iterdir()}
    shown = subprocess.run(
        ["bash", str(entry.parent / SHARED), "--dry-run"],
        env={"PATH": f"{commands}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.splitlines()[0] == "arguments: -m slurmpod_lifecycle --dry-run"
    assert {file: file.read_text() for file in logs.iterdir()} == before


def test_a_second_run_waits_for_the_first(entry: Path) -> None:
    lock = entry.parents[1] / "logs" / ".lock"
    lock.parent.mkdir()
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = subprocess.Popen(
            ["bash", str(entry)],
            env={"PATH": f"{fake_python(entry, 'ran')}:/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert waiting.stdout
        assert waiting.stdout.readline() == (
            "waiting: another run of these scripts is not finished\n"
        )
        fcntl.flock(held, fcntl.LOCK_UN)
    assert waiting.communicate(timeout=60)[0] == "ran\n"


def fake_python(entry: Path, printed: str) -> Path:
    """Put a python3 beside the bundle and return the folder that has it."""
    commands = entry.parents[1] / "commands"
    commands.mkdir(exist_ok=True)
    (commands / "python3").write_text(f'#!/bin/sh\n[ "$1" = -ISc ] || echo {printed}\n')
    (commands / "python3").chmod(0o755)
    return commands
