"""Which groups lack what the controller's plugstack.conf requires."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slurmpod.aws.cluster import Node
from slurmpod.operations import required_plugins
from slurmpod.operations.questions import read_answers
from slurmpod.operations.required_plugins import groups_without
from tests.pure.operations.nodes import live

NODES = (live("a", "i-1"), live("a", "i-2"), live("b", "i-3", status="Failure"), live("c", "i-4"))


class Controller:
    """Answers with the lines of its plugstack.conf."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines

    def answers(self, script: str) -> Mapping[str, str]:
        mark, command = script.splitlines()
        ran = subprocess.run(
            ["sh", "-c", command.replace(required_plugins.PLUGSTACK, "")],
            input="".join(f"{line}\n" for line in self.lines),
            capture_output=True,
            text=True,
            check=True,
        )
        return {mark.split()[-1].strip("'"): ran.stdout}


def found(folder: Path, *lines: str) -> tuple[Mapping[str, str], list[str]]:
    asked = []

    def ask(node: Node, command: str) -> Mapping[str, str]:
        asked.append(node.instance_id)
        ran = subprocess.run(
            ["sh", "-c", command.removeprefix("sudo --non-interactive ")],
            capture_output=True,
            text=True,
            check=True,
        )
        return read_answers(ran.stdout, node.name)

    controller: Any = Controller(*lines)
    return groups_without(controller, NODES, ask), asked


def test_one_node_that_runs_answers_for_its_group(tmp_path: Path) -> None:
    absent, there = tmp_path / "absent.so", tmp_path / "there.so"
    there.touch()
    missing, asked = found(
        tmp_path, f"required {there}", f"  required\t{absent} a=/b", "required auto_resume.so"
    )
    assert missing == {"a": str(absent), "c": str(absent)}
    assert asked == ["i-1", "i-4"]


@pytest.mark.parametrize("line", ["optional {}", "# required {}", "include {}", "required here.so"])
def test_what_is_not_required_by_its_path_is_not_asked_for(tmp_path: Path, line: str) -> None:
    assert found(tmp_path, line.format(tmp_path / "absent.so")) == ({}, [])
