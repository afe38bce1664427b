"""docs/first-hour.md: the tutorial works as printed, from the first command to the last."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden_files import ROOT
from tests.nodes.conftest import AS_IN_A_TERMINAL, Workplace

PAGE = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TELL_WHAT_FAILS = "trap 'echo \"failed: $BASH_COMMAND\"' ERR\n"
BIN = Path(sys.executable).parent
PATIENCE_SECONDS = 1500

pytestmark = pytest.mark.timeout(PATIENCE_SECONDS + 100)


def test_the_tutorial_runs_as_it_is_printed(
    workplace: Workplace, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    request.addfinalizer(lambda: workplace.run("rehearsal", "down"))
    done = subprocess.run(
        [*AS_IN_A_TERMINAL, "bash", "-c", TELL_WHAT_FAILS + "".join(COMMANDS)],
        cwd=tmp_path,
        env={**plain, **workplace.variables, "PATH": f"{BIN}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    failed = re.findall(r"^failed: (.*)$", done.stdout, re.MULTILINE)
    assert failed == ["slurmpod validate mistakes.yaml"], done.stdout
    for line in "".join(SHOWN).splitlines():
        assert line in done.stdout
    assert workplace.rehearsals() == []
    assert workplace.processes() == []
