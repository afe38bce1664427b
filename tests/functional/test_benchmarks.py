"""Programs beside which benchmarks measure: they go on working between two measurements."""

from __future__ import annotations

import subprocess
import sys

from tests.golden_files import ROOT


def test_the_app_without_its_review_is_synthesized() -> None:
    command = [sys.executable, "-m", "benchmarks.without_nag", "environments/dev.yaml"]
    subprocess.run(command, cwd=ROOT, check=True)
