"""Files that extend others: how bases are found, and what can be wrong with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slurmpod.problems import Problem
from slurmpod.reading.extends import CHAIN_LIMIT, environment_files
from slurmpod.reading.read import Reading, read
from tests.sound_environment import SOUND, sound_with

PART = SOUND.removeprefix("name: dev\n")


def write(folder: Path, **texts: str) -> None:
    """Write a file for each keyword: `base_yaml` is base.yaml."""
    for name, text in texts.items():
        (folder / name.replace("_yaml", ".yaml")).write_text(text)


def loaded_from(folder: Path, text: str) -> Reading:
    (folder / "dev.yaml").write_text(text)
    return read(folder / "dev.yaml")


def places(problems: tuple[Problem, ...]) -> list[tuple[str, str, int]]:
    return [(found.rule, Path(found.where.file).name, found.where.line) for found in problems]


def the_problem(folder: Path, extends: str) -> Problem:
    (problem,) = loaded_from(folder, f"name: dev\nextends: {extends}\n").problems
    assert (problem.rule, problem.where.path) == ("ENV-006", "extends")
    assert problem.fix
    return problem


def test_an_environment_is_made_of_a_file_and_its_base(tmp_path: Path) -> None:
    write(tmp_path, base_yaml=PART)
    loaded = loaded_from(
        tmp_path,
        "extends: base.yaml\nname: dev\ncluster: {groups: [{name: workers, count: 7}]}\n",
    )
    assert loaded.problems == ()
    assert loaded.environment
    assert [group.count for group in loaded.environment.cluster.groups] == [1, 7]
    assert loaded.environment.tags == {"team": "ml"}
    assert loaded.source.file == str(tmp_path / "dev.yaml")


def test_each_base_is_found_from_the_folder_of_the_file_that_extends_it(tmp_path: Path) -> None:
    folder = tmp_path / "environments" / "teams"
    folder.mkdir(parents=True)
    write(tmp_path, company_yaml=PART)
    write(tmp_path / "environments", region_yaml="extends: ../company.yaml\nregion: us-west-1\n")
    loaded = loaded_from(
        folder, "extends: ../region.yaml\nname: dev\nnetwork: {zone: us-west-1b}\n"
    )
    assert loaded.problems == ()
    assert loaded.environment
    assert loaded.environment.region == "us-west-1"
    assert Path(loaded.source.where(("account",)).file).resolve() == tmp_path / "company.yaml"


@pytest.mark.parametrize(
    "extends", ["", "null", "5", "true", "[base.yaml]", "{file: base.yaml}", '""']
)
def test_one_file_is_extended_by_its_path(tmp_path: Path, extends: str) -> None:
    write(tmp_path, base_yaml=PART)
    problem = the_problem(tmp_path, extends)
    assert problem.where.line == 2
    assert problem.message == "extends takes the path of one file"


def test_a_path_that_only_one_machine_has_is_refused(tmp_path: Path) -> None:
    write(tmp_path, base_yaml=PART)
    problem = the_problem(tmp_path, str(tmp_path / "base.yaml"))
    assert "would mean another file on other machines" in problem.message


def test_a_base_that_is_not_there_is_guessed(tmp_path: Path) -> None:
    write(tmp_path, _base_yaml=PART)
    problem = the_problem(tmp_path, "_bse.yaml")
    assert problem.message == f"there is no file {tmp_path}/_bse.yaml"
    assert problem.fix == "did you mean '_base.yaml'?"
    assert the_problem(tmp_path, "no/such/folder.yaml").fix.startswith("correct the path")


def test_the_file_itself_is_no_guess(tmp_path: Path) -> None:
    assert "dev.yaml" not in the_problem(tmp_path, "devs.yaml").fix


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "the file is not UTF-8 text"),
        (b"#" * 1_000_001, "the file is larger than 1 MB"),
        (b"- a list\n", "holds no settings"),
        (b"text\n", "holds no settings"),
    ],
)
def test_a_base_that_holds_no_settings_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "base.yaml").write_bytes(content)
    problem = the_problem(tmp_path, "base.yaml")
    assert problem.message.startswith(f"{tmp_path}/base.yaml")
    assert message in problem.message
    assert "did you mean" not in problem.fix


@pytest.mark.parametrize("path", ["folder", ".", "..", "pipe", r'"a\0b"', "x" * 5000])
def test_a_base_is_a_file(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert the_problem(tmp_path, path)


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [("tags:\n\tteam: ml", "ENV-001", 2), ("", "ENV-001", 1), ("a: 1\nextends: 5", "ENV-006", 2)],
)
def test_mistakes_in_a_base_are_shown_there_and_nothing_that_follows_from_them(
    tmp_path: Path, text: str, rule: str, line: int
) -> None:
    write(tmp_path, base_yaml=text)
    loaded = loaded_from(tmp_path, "extends: base.yaml\nname: dev\nname: again\n")
    assert places(loaded.problems) == [(rule, "base.yaml", line), ("ENV-001", "dev.yaml", 3)]
    assert (loaded.environment, loaded.remains) == (None, None)


def test_files_that_extend_each_other_in_a_circle_are_shown(tmp_path: Path) -> None:
    write(tmp_path, a_yaml="extends: b.yaml\n", b_yaml="extends: ./a.yaml\n")
    (problem,) = loaded_from(tmp_path, "name: dev\nextends: a.yaml").problems
    assert places((problem,)) == [("ENV-006", "b.yaml", 1)]
    assert problem.message == (
        "the files extend each other in a circle: "
        f"{tmp_path}/a.yaml -> {tmp_path}/b.yaml -> {tmp_path}/a.yaml"
    )
    assert "circle" in the_problem(tmp_path, "dev.yaml").message


def test_a_circle_through_a_link_is_one(tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to("dev.yaml")
    problem = the_problem(tmp_path, "link.yaml")
    assert "circle" in problem.message
    assert Path(problem.where.file).name == "dev.yaml"


def test_a_chain_has_an_end(tmp_path: Path) -> None:
    for number in range(1, CHAIN_LIMIT):
        write(tmp_path, **{f"base{number}_yaml": f"extends: base{number + 1}.yaml\n"})
    write(tmp_path, **{f"base{CHAIN_LIMIT}_yaml": PART})
    text = "extends: base1.yaml\nname: dev\n"
    assert loaded_from(tmp_path, text).problems == ()
    write(tmp_path, **{f"base{CHAIN_LIMIT}_yaml": f"extends: last.yaml\n{PART}"}, last_yaml="a: 1")
    (problem,) = loaded_from(tmp_path, text).problems
    assert places((problem,)) == [("ENV-006", f"base{CHAIN_LIMIT}.yaml", 1)]
    assert problem.message == "more than 10 files extend each other in a chain"


def test_mistakes_are_reported_where_the_values_stand(tmp_path: Path) -> None:
    write(tmp_path, base_yaml=PART.replace("team: ml", "team: 5"))
    loaded = loaded_from(
        tmp_path,
        "extends: base.yaml\nname: Dev\ncluster:\n  groups:\n    - name: workers\n      cuont: 3\n",
    )
    assert places(loaded.problems) == [
        ("ENV-004", "base.yaml", 4),
        ("ENV-004", "dev.yaml", 2),
        ("ENV-003", "dev.yaml", 6),
    ]


def test_a_problem_in_a_line_hides_none_in_the_same_line_of_the_other_file(tmp_path: Path) -> None:
    write(tmp_path, base_yaml="account: !x 5\n" + PART[PART.index("region") :])
    loaded = loaded_from(tmp_path, "name: Dev\nextends: base.yaml\n")
    assert places(loaded.problems) == [("ENV-001", "base.yaml", 1), ("ENV-004", "dev.yaml", 1)]


def test_what_is_missing_in_both_is_reported(tmp_path: Path) -> None:
    write(tmp_path, base_yaml=PART.replace("  zone: us-west-2b\n", ""))
    loaded = loaded_from(tmp_path, "extends: base.yaml\ncluster: {groups: [{name: more}]}")
    found = [(problem.where.path, Path(problem.where.file).name) for problem in loaded.problems]
    assert ("name", "dev.yaml") in found
    assert ("network.zone", "base.yaml") in found
    assert ("cluster.groups[2].role", "dev.yaml") in found


def test_a_required_key_that_was_taken_away_is_reported_there(tmp_path: Path) -> None:
    write(tmp_path, base_yaml=PART)
    loaded = loaded_from(tmp_path, "extends: base.yaml\nname: dev\nregion: null\n")
    assert places(loaded.problems) == [("ENV-002", "dev.yaml", 3)]


@pytest.mark.parametrize("storage", ["", "storage: {lustre: {capacity_gib: 2400}}\n"])
def test_a_file_system_that_shall_not_be_is_not_whatever_the_base_says(
    tmp_path: Path, storage: str
) -> None:
    head, _, tail = PART.partition("storage:")
    write(tmp_path, base_yaml=head + storage + tail[tail.index("cluster:") :])
    text = "extends: base.yaml\nname: dev\nstorage: {lustre: null}\n"
    loaded = loaded_from(tmp_path, text)
    assert loaded.environment
    assert loaded.environment.storage.lustre is None


def test_a_value_that_was_left_out_is_a_mistake_with_a_base_too(tmp_path: Path) -> None:
    write(tmp_path, base_yaml=PART)
    (problem,) = loaded_from(tmp_path, "extends: base.yaml\nname: dev\ntags:\n").problems
    assert (problem.rule, problem.message) == ("ENV-004", "the value is missing")


def test_extends_is_a_key_of_the_file_only(tmp_path: Path) -> None:
    (problem,) = loaded_from(tmp_path, sound_with("  zone:", "  extends: x\n  zone:")).problems
    assert problem.rule == "ENV-003"


def test_one_of_two_groups_with_one_name_is_not_lost(tmp_path: Path) -> None:
    more = "    - {name: workers, role: worker, instance_type: ml.m5.xlarge, partition: more}\n"
    write(tmp_path, base_yaml=PART + more)
    loaded = loaded_from(
        tmp_path, "extends: base.yaml\nname: dev\ncluster: {groups: [{name: workers, count: 9}]}"
    )
    assert loaded.environment
    counts = [(group.name, group.count) for group in loaded.environment.cluster.groups]
    assert counts == [("controller", 1), ("workers", 9), ("workers", 1)]


def test_what_a_base_accepts_stays_accepted(tmp_path: Path) -> None:
    reason = "reason: this is known to us"
    write(tmp_path, base_yaml=f"{PART}suppress: [{{rule: NET-001, {reason}}}]\n")
    loaded = loaded_from(
        tmp_path, f"extends: base.yaml\nname: dev\nsuppress: [{{rule: DAT-002, {reason}}}]\n"
    )
    assert loaded.environment
    assert [each.rule for each in loaded.environment.suppress] == ["NET-001", "DAT-002"]


def test_an_environment_that_extends_another_is_another_cluster(tmp_path: Path) -> None:
    write(tmp_path, prod_yaml=SOUND)
    text = "extends: prod.yaml\nstorage: {lustre: {capacity_gib: 2400}}\n"
    (problem,) = loaded_from(tmp_path, text).problems
    assert places((problem,)) == [("ENV-005", "dev.yaml", 1)]
    assert "'dev'" in problem.message
    assert "prod.yaml" in problem.message
    assert loaded_from(tmp_path, f"{text}name: test\n").problems == ()
    assert loaded_from(tmp_path, f'{text}account: "210987654321"\n').problems == ()


def test_a_part_may_name_the_cluster_of_its_only_environment(tmp_path: Path) -> None:
    write(tmp_path, _prod_yaml=SOUND)
    assert loaded_from(tmp_path, "extends: _prod.yaml\n").problems == ()


def test_a_part_may_extend_an_environment(tmp_path: Path) -> None:
    write(tmp_path, prod_yaml=SOUND, _small_yaml="extends: prod.yaml\nprotected: true\n")
    assert read(tmp_path / "_small.yaml").problems == ()
    assert loaded_from(tmp_path, "extends: _small.yaml\nname: test\n").problems == ()
    (problem,) = loaded_from(tmp_path, "extends: _small.yaml\n").problems
    assert places((problem,)) == [("ENV-005", "dev.yaml", 1)]


def test_files_that_begin_with_an_underscore_are_no_environments(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "_base.yaml", "_more.yml", "notes.txt", "schema.json"):
        (tmp_path / name).write_text("")
    assert [file.name for file in environment_files(tmp_path)] == ["a.yml", "b.yaml"]
