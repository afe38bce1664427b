"""The entry script under a real bash, in a copy whose logs lie in a temporary folder."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.golden_files import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ROOT / "lifecycle_scripts" / "on_create.sh"
LOGS = "/var/log/provision"
FAKE_PYTHON = """\
#!/bin/sh
echo "arguments: $*"
echo "in: $(pwd)" >&2
exit {status}
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a bundle with the script, beside a folder `logs` that does not exist yet."""
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    text = SCRIPT.read_text()
    assert text.count(LOGS) == 1
    (bundle / "on_create.sh").write_text(text.replace(LOGS, str(tmp_path / "logs")))
    return bundle


def run(bundle: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run the script as HyperPod does: no HOME, no terminal, no arguments."""
    commands = bundle.parent / "commands"
    commands.mkdir(exist_ok=True)
    (commands / "python3").write_text(python)
    (commands / "python3").chmod(0o755)
    return subprocess.run(
        ["bash", str(bundle / "on_create.sh")],
        env={"PATH": f"{commands}:/usr/bin:/bin"},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("status", [0, 1, 42])
def test_the_exit_status_is_that_of_the_program(bundle: Path, status: int) -> None:
    assert run(bundle, FAKE_PYTHON.format(status=status)).returncode == status


def test_the_program_runs_in_the_bundle_and_gets_the_reports_path(bundle: Path) -> None:
    output = run(bundle, FAKE_PYTHON.format(status=0)).stdout
    assert f"arguments: -m slurmpod_lifecycle {bundle.parent}/logs/report.json\n" in output
    assert f"in: {bundle}\n" in output


def test_all_output_is_also_in_the_log_of_the_node_run_after_run(bundle: Path) -> None:
    first = run(bundle, FAKE_PYTHON.format(status=1)).stdout
    second = run(bundle, "#!/bin/sh\necho again\n").stdout
    log = bundle.parent / "logs" / "provisioning.log"
    assert log.read_text() == first + second


def test_a_node_without_python_fails_and_says_so(bundle: Path) -> None:
    result = run(bundle, "#!/no/such/interpreter\n")
    assert result.returncode in (126, 127)
    assert "python3" in result.stdout
