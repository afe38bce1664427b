"""A repository of configurations as docs/configuration-repository.md has it, and its workflow.

Programs that only GitHub has, or that install something, only note how they were called.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.golden_files import ROOT

PAGE = ROOT / "docs/configuration-repository.md"
STAND_INS = ("curl", "gh", "pip", "sudo")
CALLS = "calls"


def workflow() -> Mapping[str, Any]:
    """Return the workflow of the page."""
    (text,) = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


@dataclass(frozen=True)
class Repository:
    """A repository of one environment in `folder`, and what its workflow finds there."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Repository:
        """Make the repository, and the programs that only tell."""
        for name in ("environments", "bin", "elsewhere"):
            (folder / name).mkdir()
        dev = (ROOT / "environments/dev.yaml").read_text()
        (folder / "environments/dev.yaml").write_text(dev)
        (folder / "environments/_company.yaml").write_text("tags: {team: ml}\n")
        for name in STAND_INS:
            program = folder / "bin" / name
            program.write_text(f'#!/bin/sh\necho {name} "$@" >> {folder / CALLS}\n')
            program.chmod(0o755)
        return cls(folder)

    def run(self, job: str, variables: Mapping[str, str]) -> dict[str, str]:
        """Run the shell steps of a job as GitHub does; return what each printed, by its text.

        Nobody has nodes here: `deploy` leaves them alone.
        """
        printed = {}
        path = f"{self.folder / 'bin'}{os.pathsep}{variables['PATH']}"
        for step in workflow()["jobs"][job]["steps"]:
            script = step.get("run", "").replace("dev.yaml --yes", "dev.yaml --yes --no-nodes")
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", script],
                cwd=self.folder,
                env={**variables, "PATH": path, "NUMBER": "7"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, f"{script}\n{done.stdout}"
            printed[script] = done.stdout
        return printed

    @property
    def calls(self) -> str:
        """How the programs that only tell were called."""
        return (self.folder / CALLS).read_text()
