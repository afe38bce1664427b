"""The text of a first environment."""

from __future__ import annotations

from dataclasses import replace

from slurmpod.preflight.first_environment import Choices, environment_text, free_range
from slurmpod.reading.read import read_as
from slurmpod.rules.check import sound

CHOICES = Choices(
    "lab", "111122223333", "us-west-2", "usw2-az2", "ml.p5.48xlarge", 4, "10.1.0.0/16"
)


def test_it_is_sound_and_means_what_was_chosen() -> None:
    found = sound(read_as("lab.yaml", environment_text(CHOICES)))
    assert found.warnings == ()
    assert (found.resolved.name, found.resolved.network.zone) == ("lab", "usw2-az2")
    assert [(each.instance_type, each.count) for each in found.resolved.groups][-1] == (
        "ml.p5.48xlarge",
        4,
    )


def test_values_cannot_become_other_keys() -> None:
    text = environment_text(replace(CHOICES, name="lab\nprotected: true", region="null"))
    assert read_as("lab.yaml", text).source.data["name"] == "lab\nprotected: true"
    assert read_as("lab.yaml", text).source.data["region"] == "null"


def test_a_free_range_overlaps_no_other() -> None:
    assert free_range([]) == "10.0.0.0/16"
    assert free_range(["10.0.0.0/15", "10.2.128.0/20", "172.31.0.0/16"]) == "10.3.0.0/16"
    assert free_range(["10.0.0.0/8"]) == "10.0.0.0/16"
