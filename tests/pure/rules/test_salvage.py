"""Rules speak about a file with mistakes of form, as far as they can, and only of what is there."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from slurmpod.reading.read import read, read_as
from slurmpod.rules.check import check
from tests.pure.reading.test_phrases import paths
from tests.sound_environment import SOUND

EXAMPLES = sorted((Path(__file__).parents[3] / "environments/examples").glob("[!_]*.yaml"))
EVERY = 12
"""One of so many places of an example gets a mistake: all take half a minute."""

DEV = (Path(__file__).parents[3] / "environments/dev.yaml").read_text()


def found(text: str) -> list[tuple[str, int]]:
    return [(problem.rule, problem.where.line) for problem in check(read_as("e.yaml", text))]


def places(text: str) -> set[tuple[str, str]]:
    return {(problem.rule, problem.where.path) for problem in check(read_as("e.yaml", text))}


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), start=1) if part in line)


def test_a_misspelt_key_does_not_hide_what_rules_find_elsewhere() -> None:
    text = DEV.replace("capacity_gib: 1200", "capacity_gib: 1300").replace("count: 2", "cuont: 2")
    assert found(text) == [
        ("STO-001", line_of(text, "1300")),
        ("ENV-003", line_of(text, "cuont")),
    ]


def test_a_misspelt_key_is_not_reported_as_a_missing_one_too() -> None:
    text = DEV.replace("partition: cpu", "partiton: cpu")
    assert found(text) == [("ENV-003", line_of(text, "partiton"))]


WORKERS = "cluster.groups[1]"


@pytest.mark.parametrize(
    ("old", "new", "mistake", "place"),
    [
        ("name: dev", "name: Dev", "ENV-004", "name"),
        ("tags:\n  team: ml", "tags: {'': x}", "ENV-004", "tags."),
        ("name: workers", "name: wor kers", "ENV-004", f"{WORKERS}.name"),
        ("name: workers\n      ", "", "ENV-002", f"{WORKERS}.name"),
        ("role: worker", "role: wrker", "ENV-004", f"{WORKERS}.role"),
        ("role: worker", "rolle: worker", "ENV-003", f"{WORKERS}.rolle"),
        ("count: 2", "auto_patch: {strategy: soon}", "ENV-004", f"{WORKERS}.auto_patch.strategy"),
        ("count: 2", "auto_patch: {}", "ENV-002", f"{WORKERS}.auto_patch.strategy"),
        (
            "count: 2",
            "scheduled_update: {schedule: weekly}",
            "ENV-004",
            f"{WORKERS}.scheduled_update.schedule",
        ),
        ("cluster:", "slurm: {qos: [{priority: 3}]}\ncluster:", "ENV-002", "slurm.qos[0].name"),
        ("cluster:", "slurm: {settings: {A-B: x}}\ncluster:", "ENV-004", "slurm.settings.A-B"),
        ("cluster:", "slurm: {partitions: [5]}\ncluster:", "ENV-004", "slurm.partitions[0]"),
        ("cluster:", "access: {users: [{name: a}]}\ncluster:", "ENV-002", "access.users[0].uid"),
        ("cluster:", "identity: 5\ncluster:", "ENV-004", "identity"),
        ("region: us-west-2", "region: uswest2", "ENV-004", "region"),
        ("region: us-west-2\n", "", "ENV-002", "region"),
        ("zone: us-west-2b", "zone: b", "ENV-004", "network.zone"),
        ("zone: us-west-2b\n ", "", "ENV-002", "network.zone"),
        ("zone: us-west-2b", "zone: eu-west-1a\n  zone: us-west-2b", "ENV-001", "network.zone"),
        ("name: dev\n", "name: dev\nname: other\n", "ENV-001", "name"),
        ("team: ml\n", "team: ml\n  team: research\n", "ENV-001", "tags.team"),
        ("tags:\n  team: ml", "tags: {[team]: ml}", "ENV-001", "tags"),
        ("count: 2", "count: !few 2", "ENV-001", ""),
        ("count: 2", "junk: [{[a]: 1}, !x 1, {b: 1, b: 2}]", "ENV-001", f"{WORKERS}.junk[0]"),
        ("partition: cpu", "partition: cpu\n    - !more {name: a}", "ENV-001", ""),
    ],
)
def test_a_mistake_hides_nothing_and_has_no_consequences(
    old: str, new: str, mistake: str, place: str
) -> None:
    text = SOUND.replace(old, new).replace("capacity_gib: 1200", "capacity_gib: 1300")
    found_at = places(text)
    assert place in {path for rule, path in found_at if rule == mistake}
    others = {(rule, path) for rule, path in found_at if not rule.startswith("ENV-")}
    assert others == {("STO-001", "storage.lustre.capacity_gib")}


def test_what_rests_on_a_section_with_a_mistake_is_not_judged() -> None:
    link = "    data_repositories: [{path: a b, s3_uri: s3://abc/}]\ncluster:"
    text = SOUND.replace("cluster:", link).replace("capacity_gib: 1200", "capacity_gib: 1300")
    assert places(text) == {("ENV-004", "storage.lustre.data_repositories[0].path")}


@pytest.mark.parametrize("zone", ["b", "5"])
def test_where_no_zone_can_be_told_groups_are_judged_by_all_the_rest(zone: str) -> None:
    text = SOUND.replace("zone: us-west-2b", f"zone: {zone}").replace("role: worker", "role: login")
    rules = {rule for rule, _ in places(text) if not rule.startswith("ENV-")}
    assert "CLU-004" in rules
    assert not any(rule.startswith(("ZON", "NET")) for rule in rules)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_a_mistake_in_a_sound_file_is_the_only_finding(file: Path) -> None:
    sound = read(file)
    accepted = {problem.rule for problem in check(sound)}
    places = [path for path in paths(sound.source.data) if path and path[0] != "suppress"]
    for path in places[::EVERY]:
        wrong: Any = deepcopy(sound.source.data)
        reduce(getitem, path[:-1], wrong)[path[-1]] = 2.5
        loaded = read_as(str(file), json.dumps(wrong))
        found = {problem.rule for problem in check(loaded)} - accepted
        assert loaded.environment or found <= {"ENV-002", "ENV-003", "ENV-004"}, path


def test_many_mistakes_hide_nothing_either() -> None:
    text = (
        DEV.replace("name: dev", f"name: {'a' * 64}")
        .replace("team: ml-platform", "team: 5")
        .replace("capacity_gib: 1200", "capacity_gib: 1300")
        .replace("instance_type: ml.m5.xlarge", "instance_type: m5.xlarge")
    )
    assert found(text) == [
        ("ENV-004", line_of(text, "name: aaa")),
        ("ENV-004", line_of(text, "team: 5")),
        ("STO-001", line_of(text, "1300")),
        ("ENV-004", line_of(text, "m5.xlarge")),
    ]


def test_entries_beside_a_mistake_wait_for_it() -> None:
    text = SOUND.replace("    - name: controller", "    - nothing\n    - name: controller")
    text = text.replace("instance_type: ml.m5.xlarge", "instance_type: ml.m5.none")
    assert places(text) == {("ENV-004", "cluster.groups[0]")}


REFERRED_TO = """\
slurm:
  partitions: [{name: cpu, priority_tier: 2}]
  qos: [{name: high}, {name: low, preempts: [high]}]
  accounts: [{name: team, qos: [high, low]}]
access:
  groups: [{name: lab, gid: 3000}]
  users: [{name: ann, uid: 3001, groups: [lab], accounts: [team], qos: [high]}]
  user_groups: [workers]
  sessions: {}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: workers", "nam: workers"),
        ("name: workers", "name: wor kers"),
        ("name: workers", "zzz: 1"),
        ("partition: cpu", "partition: c pu"),
        ("role: worker\n", "role: wrker\n"),
        ("{name: high}", "{}"),
        ("{name: high}", "high"),
        ("{name: team,", "{name: TEAM,"),
        ("{name: lab,", "{"),
        ("[{name: lab, gid: 3000}]", "lab"),
    ],
)
def test_what_names_something_with_a_mistake_is_no_mistake(old: str, new: str) -> None:
    assert places(SOUND + REFERRED_TO) == set()
    assert old in SOUND + REFERRED_TO
    text = (SOUND + REFERRED_TO).replace(old, new)
    rules = {rule for rule, _ in places(text)}
    assert rules
    assert all(rule.startswith("ENV-") for rule in rules)


@pytest.mark.parametrize("section", ["lifecycle: {mode: extnded}", "lifecycle: {moode: extended}"])
def test_what_depends_on_a_mistake_is_not_judged(section: str) -> None:
    text = f"{SOUND}{section}\nslurm: {{config_strategy: Merge}}\n"
    assert [rule[:4] for rule, _ in found(text)] == ["ENV-"]


def test_a_list_is_not_judged_without_the_entry_that_is_wrong() -> None:
    text = SOUND + REFERRED_TO.replace("priority_tier: 2", "allowed_qos: [low]")
    assert ("PAR-008", "slurm.partitions[0].allowed_qos") in places(text)
    text = text.replace("allowed_qos: [low]", "allowed_qos: [low, no rmal]")
    assert {rule for rule, _ in places(text)} == {"ENV-004"}


@pytest.mark.parametrize(
    "entry", ["{rule: NET-001, reason: short}", "{reason: this is our range}", "NET-001"]
)
def test_warnings_wait_for_a_mistake_in_what_is_accepted(entry: str) -> None:
    text = SOUND.replace("10.0.0.0/16", "11.0.0.0/16")
    text = text.replace("capacity_gib: 1200", "capacity_gib: 1300") + f"suppress: [{entry}]\n"
    others = {(rule, path) for rule, path in places(text) if not rule.startswith("ENV-")}
    assert others == {("STO-001", "storage.lustre.capacity_gib")}


def test_a_key_that_stands_twice_in_a_base_hides_nothing_either(tmp_path: Path) -> None:
    base = SOUND.replace("capacity_gib: 1200", "capacity_gib: 1300")
    (tmp_path / "_base.yaml").write_text(base.replace("  team: ml", "  team: ml\n  team: all"))
    text = "extends: _base.yaml\nname: other\n"
    problems = check(read_as(str(tmp_path / "e.yaml"), text))
    assert [problem.rule for problem in problems] == ["ENV-001", "STO-001"]


def test_on_top_of_one_base_or_another_nothing_is_judged(tmp_path: Path) -> None:
    for name in ("_one.yaml", "_two.yaml"):
        (tmp_path / name).write_text(SOUND.replace("capacity_gib: 1200", "capacity_gib: 1300"))
    text = "extends: _one.yaml\nextends: _two.yaml\nname: other\n"
    problems = check(read_as(str(tmp_path / "e.yaml"), text))
    assert [problem.rule for problem in problems] == ["ENV-001"]
