"""A file with mistakes of form is mended wherever they are, in several ways."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from slurmpod.model.loader import Loaded, load_text
from tests.sound_environment import SOUND, sound_with
from tests.unit.model.test_phrases import FULL, paths


def with_wrong_value(path: tuple[str | int, ...]) -> Loaded:
    document = deepcopy(FULL)
    parent: Any = document
    for part in path[:-1]:
        parent = parent[part]
    parent[path[-1]] = 2.5
    return load_text("full.yaml", json.dumps(document))


def test_a_wrong_value_can_be_mended_wherever_it_is() -> None:
    for path in [path for path in paths(FULL) if path]:
        loaded = with_wrong_value(path)
        if loaded.problems:
            assert loaded.salvaged, path
            assert not loaded.salvaged.may_speak_of(path)
            assert next(loaded.salvaged.environments())


def test_a_wrong_role_could_be_each_of_them() -> None:
    salvaged = load_text("dev.yaml", sound_with("role: worker", "role: wrker")).salvaged
    assert salvaged
    roles = {environment.cluster.groups[1].role for environment in salvaged.environments()}
    assert roles == {"controller", "login", "worker"}


def test_a_hint_is_what_has_the_form_of_the_lost_text() -> None:
    salvaged = load_text("dev.yaml", sound_with("region: us-west-2", "region: 5")).salvaged
    assert salvaged
    regions = {environment.region for environment in salvaged.environments("eu-central-1a")}
    assert regions == {"eu-central-1"}
    assert list(salvaged.environments("no such thing")) == []


@pytest.mark.parametrize("text", ["5", "[]", "name"])
def test_what_is_no_mapping_cannot_be_mended(text: str) -> None:
    assert load_text("dev.yaml", text).salvaged is None


def test_a_sound_file_needs_no_mending() -> None:
    assert load_text("dev.yaml", SOUND).salvaged is None
