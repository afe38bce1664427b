"""Programs that steps put onto nodes are as clean as files here are."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps import STEPS
from tests.pure.lifecycle.fakes import node
from tests.pure.lifecycle.test_repetition import EVERYTHING, OTHER_KINDS, finish, living_node

SHELL = re.compile(r"#!.*\b(ba)?sh\b")


def programs() -> dict[str, str]:
    """Return where each shell program of every step goes, by its text."""
    found: dict[str, str] = {}
    for kind, role, step in itertools.product(({}, *OTHER_KINDS), Role, STEPS):
        environment = {**EVERYTHING, **kind}
        if not step.applies_to(node(role, **environment)):
            continue
        here, machine = living_node(step, role, environment)
        finish(step, here)
        found |= {text: place for place, text in machine.files.items() if SHELL.match(text)}
    return found


def test_every_program_on_a_node_passes_shellcheck(tmp_path: Path) -> None:
    for number, (text, place) in enumerate(programs().items()):
        (tmp_path / f"{number}-{place.rpartition('/')[2]}").write_text(text)
    files = sorted(map(str, tmp_path.iterdir()))
    names = {name.partition("-")[2] for name in (file.rpartition("/")[2] for file in files)}
    assert {"truP", "truE", "slurmpod-health", "slurmpod-home"} <= names
    shellcheck = shutil.which("shellcheck") or "shellcheck"
    result = subprocess.run([shellcheck, *files], capture_output=True, text=True)
    assert result.stdout + result.stderr == ""
