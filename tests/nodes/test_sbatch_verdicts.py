"""Verdicts of the linter, compared with the real sbatch of each node image.

`make bench PARTS=lint` compares thousands of scripts in the same way.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.batch_scripts import batch_scripts
from benchmarks.lint import ENVIRONMENT, SEED, Outcome, compare
from slurmpod.cli.environment import sound_environment
from slurmpod.platform_profiles.slurm_versions import SlurmVersion
from slurmpod.rehearsal.nodes.image import bake

RESOLVED = sound_environment(ENVIRONMENT).resolved
SAMPLE = 60
FEWEST_THAT_AGREE = 59


@pytest.mark.parametrize("slurm", SlurmVersion)
def test_the_linter_refuses_nothing_that_sbatch_takes(image: Path, slurm: SlurmVersion) -> None:
    scripts = list(batch_scripts(SAMPLE, SEED))
    compared = compare(bake(print, slurm=slurm), RESOLVED, scripts, slurm)
    outcomes = [each.outcome for each in compared]
    assert [str(each) for each in compared if each.outcome is Outcome.FALSE] == []
    assert outcomes.count(Outcome.AGREE) >= FEWEST_THAT_AGREE
    assert {bool(each.found) for each in compared} == {True, False}
