"""A shared file system that does not answer: none of our programs waits for it without a limit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.golden_files import ROOT
from tests.nodes.silent_folder import silent_folder

SCRIPTS = ROOT / "lifecycle_scripts"
PATIENCE_SECONDS = 60
"""Only a bug takes as long."""

PROGRAM = """
import os, sys, threading
from slurmpod_lifecycle.own_process import in_own_process

def work():
    hung = threading.Thread(target=os.stat, args=(sys.argv[1],), daemon=True)
    hung.start()
    hung.join(0.5)
    print(f"the thread hangs: {hung.is_alive()}")
    return 3

sys.exit(in_own_process(work))
"""
RUN = """
exec 9> "$2/lock"
flock --nonblock 9 || exit 4
"$3" -c "$4" "$1" 2>&1 | tee "$2/log"
exit ${PIPESTATUS[0]}
"""


@pytest.fixture
def silent() -> Iterator[Path]:
    """Not below the folder of the tests: pytest scans that, and would hang itself."""
    with TemporaryDirectory() as folder, silent_folder(Path(folder)):
        yield Path(folder)


def test_a_run_ends_with_its_status_and_leaves_neither_log_nor_lock_open(
    silent: Path, tmp_path: Path
) -> None:
    command = ["bash", "-c", RUN, "bash", str(silent), str(tmp_path), sys.executable, PROGRAM]
    for _ in range(2):
        with (tmp_path / "shown").open("w+") as shown:
            ended = subprocess.run(
                command, cwd=SCRIPTS, stdout=shown, stderr=shown, timeout=PATIENCE_SECONDS
            )
            shown.seek(0)
            said = shown.read()
        assert ended.returncode == 3, said
        assert said == "the thread hangs: True\n"
    assert (tmp_path / "log").read_text() == said
