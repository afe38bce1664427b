"""pytest with several processes: each takes whole files, whose tests go on where others ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.golden_files import ROOT

CONFTEST = "from tests.conftest import pytest_xdist_make_scheduler"
TESTS = """
import os
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(12))
def test_it(number):
    with Path(__file__).with_name("processes").open("a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_no_file_is_dealt_out_test_by_test(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "--numprocesses=2", f"--rootdir={tmp_path}"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    ended = subprocess.run([*command, tmp_path], cwd=ROOT, env=own, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout
    found = [(tmp_path / name / "processes").read_text().split() for name in ("one", "two")]
    assert [len(set(each)) for each in found] == [1, 1]
    assert [len(each) for each in found] == [12, 12]
