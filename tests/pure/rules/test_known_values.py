"""Values that AWS may have by now: they pass with a warning, and mistyped ones do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from slurmpod.environment.descriptions import all_sections, known_in
from slurmpod.environment.facts import facts
from slurmpod.problems import Severity
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from slurmpod.rules.lustre import THROUGHPUT as LUSTRE_THROUGHPUT
from slurmpod.rules.openzfs import THROUGHPUT as OPENZFS_THROUGHPUT
from tests.sound_environment import SOUND

LUSTRE = "capacity_gib: 1200"


def found(old: str, new: str) -> list[tuple[str, Severity, str]]:
    assert old in SOUND
    problems = check(read_as("e.yaml", SOUND.replace(old, new)))
    return [(each.rule, each.severity, each.message) for each in problems]


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ('version: "2.18"', "NEW-001"),
        ('version: "2.18.1"', "ENV-004"),
        ("compression: ZSTD", "NEW-001"),
        ("compression: zstd", "ENV-004"),
        ("compression: NONEE", "ENV-004"),
        ("deployment_type: PERSISTENT_3", "NEW-001"),
        ("deployment_type: PERSISTANT_2", "ENV-004"),
        ("throughput_mbps_per_tib: 2000", "NEW-001"),
        ("throughput_mbps_per_tib: 0", "ENV-004"),
        ("throughput_mbps_per_tib: 200", "LUS-002"),
    ],
)
def test_what_could_be_new_is_a_warning_and_what_is_wrong_an_error(setting: str, rule: str) -> None:
    ((said, severity, _),) = found(LUSTRE, f"{LUSTRE}\n    {setting}")
    assert said == rule
    assert severity is (Severity.WARNING if rule == "NEW-001" else Severity.ERROR)


def test_what_aws_has_and_slurmpod_does_not_know_is_said_so() -> None:
    ((_, _, message),) = found(LUSTRE, f"{LUSTRE}\n    deployment_type: SCRATCH_1")
    assert message == "AWS has 'SCRATCH_1', but slurmpod does not know its consequences"


def test_every_fact_with_a_form_is_that_of_a_field_or_of_a_limit() -> None:
    of_fields = {
        known.name
        for section in all_sections()
        for field in section.model_fields.values()
        if (known := known_in(field))
    }
    assert len(of_fields) > 8
    assert all(facts()[name].form for name in of_fields)


@pytest.mark.parametrize(
    ("name", "by_kind"),
    [
        ("storage.lustre.throughput_mbps_per_tib", LUSTRE_THROUGHPUT),
        ("storage.openzfs.throughput_mbps", OPENZFS_THROUGHPUT),
    ],
)
def test_what_each_kind_of_file_system_has_is_together_what_is_known(
    name: str, by_kind: Mapping[object, Sequence[int]]
) -> None:
    assert {value for values in by_kind.values() for value in values} == set(facts()[name].numbers)
