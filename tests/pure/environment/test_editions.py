"""The edition of a file decides which defaults hold; without one they are those of the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmpod.environment.descriptions import description_of
from slurmpod.environment.editions import CHOSEN, FIRST, NEWEST, newer_defaults
from slurmpod.environment.environment import Environment
from slurmpod.problems import YamlPath
from slurmpod.reading.extends import with_bases
from slurmpod.reading.read import read_as, validated
from slurmpod.reading.yaml_source import read_yaml
from tests.environment_files import FILES
from tests.sound_environment import SOUND, sound_data


def environment(*, mode: str | None = None, **keys: Any) -> Environment:
    sections = {"lifecycle": {"mode": mode}} if mode else {}
    return validated({**sound_data(), **sections, **keys})


def chosen(found: Environment) -> tuple[str, str]:
    return found.lifecycle.mode, found.cluster.provisioning


@pytest.mark.parametrize("keys", [{}, {"edition": FIRST}])
def test_the_first_edition_has_the_defaults_that_always_were(keys: dict[str, Any]) -> None:
    assert chosen(environment(**keys)) == ("customer", "standard")


@pytest.mark.parametrize(
    ("mode", "defaults"),
    [
        (None, ("extended", "continuous")),
        ("extended", ("extended", "continuous")),
        ("managed", ("managed", "continuous")),
        ("customer", ("customer", "standard")),
    ],
)
def test_the_newest_has_what_aws_recommends(mode: str | None, defaults: tuple[str, str]) -> None:
    assert chosen(environment(mode=mode, edition=NEWEST)) == defaults


def test_what_is_written_holds_in_every_edition() -> None:
    data = sound_data()
    data["cluster"]["provisioning"] = "standard"
    found = validated({**data, "lifecycle": {"mode": "managed"}, "edition": NEWEST})
    assert chosen(found) == ("managed", "standard")


def test_an_edition_chooses_nothing_else() -> None:
    old, new = environment(edition=FIRST), environment(edition=NEWEST)
    assert dict(_differences(old.model_dump(), new.model_dump())) == {
        ("edition",): NEWEST,
        ("lifecycle", "mode"): "extended",
        ("cluster", "provisioning"): "continuous",
    }


def _differences(old: Any, new: Any, path: YamlPath = ()) -> Any:
    if isinstance(old, dict):
        for key in old:
            yield from _differences(old[key], new[key], (*path, key))
    elif old != new:
        yield path, new


@pytest.mark.parametrize("file", FILES.values(), ids=list(FILES))
def test_a_file_without_an_edition_says_what_the_first_one_would(file: Path) -> None:
    data = dict(with_bases(read_yaml(str(file), file.read_text())).data)
    data.pop("edition", None)
    spelled_out = {
        **data,
        "lifecycle": {"mode": "customer", **data.get("lifecycle", {})},
        "cluster": {"provisioning": "standard", **data["cluster"]},
    }
    assert validated(data) == validated(spelled_out)


def test_what_a_change_to_the_newest_would_mean() -> None:
    def of(found: Environment) -> dict[YamlPath, str]:
        return newer_defaults(found.lifecycle, found.cluster)

    assert of(environment()) == dict(zip(CHOSEN, ("extended", "continuous"), strict=True))
    assert of(environment(mode="extended")) == {CHOSEN[1]: "continuous"}
    assert of(environment(mode="customer")) == {}


def test_an_edition_of_another_year_is_refused() -> None:
    (problem,) = read_as("dev.yaml", f"{SOUND}edition: 2025\n").problems
    assert (problem.rule, problem.where.path) == ("ENV-004", "edition")
    assert "one of 2024, 2026" in problem.fix


@pytest.mark.parametrize("path", CHOSEN)
def test_the_pages_of_fields_name_both_defaults(path: YamlPath) -> None:
    for edition in (FIRST, NEWEST):
        section, key = map(str, path)
        default = getattr(getattr(environment(edition=edition), section), key)
        assert f"`{default}`" in description_of(path)
    assert f"edition: {NEWEST}" in description_of(path)
