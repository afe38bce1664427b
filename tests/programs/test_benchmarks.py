"""Programs beside which benchmarks measure: they go on working between two measurements."""

from __future__ import annotations

import re
import subprocess
import sys

from benchmarks.clusters import START_SLURM
from slurmpod.platform_profiles.loading import DATA, DEFAULT
from tests.golden_files import ROOT


def test_the_app_without_its_review_is_synthesized() -> None:
    command = [sys.executable, "-m", "benchmarks.without_nag", "environments/dev.yaml"]
    subprocess.run(command, cwd=ROOT, check=True)


def test_the_program_with_one_model_is_a_program() -> None:
    subprocess.run([sys.executable, "benchmarks/one_model.py"], cwd=ROOT, check=True)


def test_slurm_alone_gets_its_options_from_where_the_units_of_nodes_look() -> None:
    (written,) = re.findall(r"SLURMD_OPTIONS=.* >(/.+)", START_SLURM)
    assert f"EnvironmentFile: {{value: -{written}," in (DATA / f"{DEFAULT}.yaml").read_text()
