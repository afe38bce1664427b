"""Scripts from public reports and common mistakes, each with the verdict that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.cli.environment import sound_environment
from slurmpod.jobs.lint import lint, verdict

CASES = Path(__file__).parents[2] / "cases" / "jobs"
RESOLVED = sound_environment(CASES / "environment.yaml").resolved

VERDICTS = {
    "account_not_in_partition": "error JOB-054 5",
    "array_beyond_maxarraysize": "error JOB-057 5",
    "checkpoint_on_own_disk": "warning JOB-059 6",
    "cpus_beyond_node": "error JOB-050 5",
    "deadline_before_end": "error JOB-009 5",
    "efa_switched_off": "warning JOB-049 6, warning JOB-049 6",
    "fan_out": "warning JOB-063 6",
    "feature_nobody_has": "error JOB-052 5",
    "image_registry_without_hash": "warning JOB-070 6",
    "interface_eth0": "warning JOB-048 6",
    "memory_beyond_node": "error JOB-051 5",
    "no_srun_two_nodes": "warning JOB-061 6",
    "output_tilde": "warning JOB-019 3",
    "output_variable": "warning JOB-019 3",
    "pinned_nodes": "warning JOB-024 5",
    "qos_not_in_partition": "error JOB-055 5",
    "rendezvous_on_own_name": "error JOB-062 6",
    "secrets_in_script": "warning JOB-033 6, warning JOB-033 7",
    "space_after_hash": "warning JOB-047 1, warning JOB-018 2",
    "squashfs_without_slash": "warning JOB-070 6",
    "time_beyond_partition": "error JOB-053 5",
    "time_is_minutes": "note JOB-023 5",
    "torchrun_in_each_task": "error JOB-060 6",
    "unknown_option": "error JOB-007 5",
}
"""Severity, rule and line of every problem."""


def text_of(name: str) -> str:
    return (CASES / f"{name}.sbatch").read_text()


@pytest.mark.parametrize("name", VERDICTS)
def test_each_case_has_its_right_verdict(name: str) -> None:
    found = [
        f"{each.severity} {each.rule} {each.where.line}"
        for each in lint("x", text_of(name), RESOLVED)
    ]
    assert found == VERDICTS[name].split(", ")


def test_there_is_no_case_without_a_verdict() -> None:
    assert sorted(file.stem for file in CASES.glob("*.sbatch")) == sorted(VERDICTS)


REFUSED = {
    "account_not_in_partition": "Invalid account or account/partition combination",
    "array_beyond_maxarraysize": "Invalid job array specification",
    "cpus_beyond_node": "More processors requested than permitted",
    "deadline_before_end": "Requested time limit is invalid",
    "feature_nobody_has": "Invalid feature specification",
    "memory_beyond_node": "Memory specification can not be satisfied",
    "qos_not_in_partition": "Invalid qos specification",
    "time_beyond_partition": "Requested time limit is invalid",
    "unknown_option": "sbatch has no option --ntask-per-node",
}
"""What sbatch refuses, and its reason."""


@pytest.mark.parametrize("name", VERDICTS)
def test_sbatch_refuses_these_and_takes_the_others(name: str) -> None:
    refusals = [each.message for each in verdict(text_of(name), RESOLVED)]
    assert bool(refusals) == (name in REFUSED)
    assert all(REFUSED[name] in message for message in refusals)


def test_sbatch_takes_a_script_whose_steps_srun_refuses() -> None:
    text = "#!/bin/bash\n#SBATCH -p cpu\nsrun --mem=2X hostname\n"
    assert [each.rule for each in lint("x", text, RESOLVED)] == ["JOB-008"]
    assert verdict(text, RESOLVED) == ()
    assert len(verdict("\n" + text, RESOLVED)) == 1


def test_sbatch_refuses_a_directive_without_an_option() -> None:
    text = "#!/bin/bash\n#SBATCH torchrun\nhostname\n"
    assert [each.rule for each in verdict(text, RESOLVED)] == ["JOB-007"]
