"""docs/tasks.md: its lines of YAML are sound in an environment."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copy2

import pytest

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from tests.golden_files import ROOT

PAGE = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
TASKS = re.findall(r"^### ([^\n]*)\n(?:(?!^#).)*?^```yaml\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.mark.parametrize(("task", "lines"), TASKS, ids=[task for task, _ in TASKS])
def test_lines_of_a_task_are_sound(
    task: str, lines: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    copy2(ROOT / "environments" / "dev.yaml", tmp_path)
    file.write_text(f"extends: dev.yaml\nname: mine\n{lines}")
    assert run(["validate", str(file)]) == ExitCode.OK, task
    assert capsys.readouterr().out == "1 file: no problems\n"


def test_every_block_of_yaml_belongs_to_a_task() -> None:
    assert len(TASKS) == PAGE.count("```yaml") > 5
