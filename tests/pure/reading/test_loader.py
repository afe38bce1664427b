from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slurmpod.environment.descriptions import all_sections
from slurmpod.problems import Problem
from slurmpod.reading.read import SHOWN, read_as
from tests.sound_environment import SOUND, sound_with

if TYPE_CHECKING:
    from pydantic import BaseModel


def problems_of(text: str) -> tuple[Problem, ...]:
    loaded = read_as("dev.yaml", text)
    assert (loaded.environment is None) == bool(loaded.problems)
    return loaded.problems


def the_problem_of(text: str) -> Problem:
    (problem,) = problems_of(text)
    return problem


def test_a_sound_file_becomes_an_environment_with_defaults() -> None:
    environment = read_as("dev.yaml", SOUND).environment
    assert environment is not None
    assert environment.storage.lustre is not None
    assert environment.storage.lustre.mount_path == "/fsx"
    assert environment.cluster.groups[0].count == 1


@pytest.mark.parametrize(
    "section",
    [
        section
        for section in all_sections()
        if not any(field.is_required() for field in section.model_fields.values())
    ],
)
def test_a_section_that_is_left_out_is_one_that_is_empty(section: type[BaseModel]) -> None:
    left_out, empty = section.model_construct(), section.model_validate_json("{}")
    assert (left_out, left_out.model_fields_set) == (empty, empty.model_fields_set)


@pytest.mark.parametrize(
    ("old", "new", "rule", "line", "message", "fix"),
    [
        (
            'account: "123456789012"',
            "account: 123456789012",
            "ENV-004",
            2,
            "123456789012 is not text",
            'write it in quotes: "123456789012" (AWS account id: 12 digits, quoted)',
        ),
        (
            'account: "123456789012"',
            'account: "1234"',
            "ENV-004",
            2,
            "'1234' does not have the right form",
            'write text such as "123456789012" (AWS account id: 12 digits, quoted)',
        ),
        (
            'account: "123456789012"',
            'account: "١٢٣٤٥٦٧٨٩٠١٢"',
            "ENV-004",
            2,
            "'١٢٣٤٥٦٧٨٩٠١٢' does not have the right form",
            'write text such as "123456789012" (AWS account id: 12 digits, quoted)',
        ),
        (
            "region: us-west-2",
            "region: US West",
            "ENV-004",
            3,
            "'US West' does not have the right form",
            "write text such as us-west-2 (AWS Region)",
        ),
        (
            "region: us-west-2\n",
            "",
            "ENV-002",
            1,
            "'region' is missing here",
            "add 'region: us-west-2'",
        ),
        (
            "      role: worker\n",
            "",
            "ENV-002",
            17,
            "'role' is missing here",
            "add 'role', one of controller, login, worker (What the nodes do: exactly one ",
        ),
        (
            "role: worker",
            "role: Wroker",
            "ENV-004",
            18,
            "'Wroker' is not one of the choices",
            "did you mean 'worker'? write one of controller, login, worker (What the nodes do: ",
        ),
        (
            "count: 2",
            'count: "2"',
            "ENV-004",
            20,
            "'2' is not a whole number",
            "write it without quotes: 2 (Number of nodes)",
        ),
        (
            "count: 2",
            "count: 2.5",
            "ENV-004",
            20,
            "'2.5' is not a whole number",
            "write a whole number from 0 to 6758 (Number of nodes)",
        ),
        (
            "count: 2",
            "count: -1",
            "ENV-004",
            20,
            "-1 is too small",
            "write a whole number from 0 to 6758 (Number of nodes)",
        ),
        (
            "count: 2",
            "count:",
            "ENV-004",
            20,
            "the value is missing",
            "write a whole number from 0 to 6758, or remove the key (Number of nodes)",
        ),
        (
            "count: 2",
            'threads_per_core: "2"',
            "ENV-004",
            20,
            "'2' is not one of the choices",
            "write it without quotes: 2 (Hardware threads that Slurm sees per core; default: ",
        ),
        (
            "capacity_gib: 1200",
            "capacity_gib: 600",
            "ENV-004",
            11,
            "600 is too small",
            "write a whole number of at least 1200 (Size in GiB; on SSD 1200, 2400, or a ",
        ),
        (
            "vpc_cidr: 10.0.0.0/16",
            "vpc_cidr: 10.0.0.1/16",
            "ENV-004",
            8,
            "'10.0.0.1/16' is not an IPv4 range",
            "begin the range at its first address: 10.0.0.0/16 (Addresses of the new VPC, ",
        ),
        (
            "vpc_cidr: 10.0.0.0/16",
            "vpc_cidr: 10.0.0.0/8",
            "ENV-004",
            8,
            "'10.0.0.0/8' is not of a size from /16 to /24",
            "write a range of that size, such as 10.0.0.0/16 (Addresses of the new VPC, ",
        ),
        (
            "vpc_cidr: 10.0.0.0/16",
            "vpc_cidr: ten",
            "ENV-004",
            8,
            "'ten' is not an IPv4 range",
            "write an IPv4 range such as 10.0.0.0/16 (Addresses of the new VPC, /16 to /24;",
        ),
        ("team: ml", "team: 5", "ENV-004", 5, "5 is not text", 'write it in quotes: "5"'),
        (
            "team: ml",
            '"": ml',
            "ENV-004",
            5,
            "'' is too short",
            "write text of 1 to 128 characters",
        ),
        (
            "    - name: controller\n",
            "    - controller\n    - name: controller\n",
            "ENV-004",
            14,
            "'controller' is not a mapping (key: value)",
            "write a mapping with the keys name, role, instance_type, instance_types, ",
        ),
        (
            "capacity_gib: 1200",
            "mount_path: /fsx/",
            "ENV-004",
            11,
            "'/fsx/' does not have the right form",
            "write it without the slash at the end (Folder on every node)",
        ),
        (
            "capacity_gib: 1200",
            "mount_path: fsx/",
            "ENV-004",
            11,
            "'fsx/' does not have the right form",
            "write text of at most 1024 characters such as /fsx (Folder on every node)",
        ),
        (
            "capacity_gib: 1200",
            "data_repositories: [{path: /ns1/, s3_uri: s3://my-data/}]",
            "ENV-004",
            11,
            "'/ns1/' does not have the right form",
            "write it without the slash at the end (Folder inside the file system)",
        ),
        (
            "role: controller",
            "role: controller\n      image_id: ami-0d6b8fd0705a",
            "ENV-004",
            16,
            "'ami-0d6b8fd0705a' does not have the right form",
            (
                "write text such as ami-0123456789abcdef0 (Machine image made from a HyperPod"
                " image; default: HyperPod's newest)"
            ),
        ),
        ("name: dev", "nmae: dev", "ENV-003", 1, "unknown key 'nmae'", "did you mean 'name'?"),
        (
            "  lustre:\n    capacity_gib: 1200",
            "  nfs_server: 1",
            "ENV-003",
            10,
            "unknown key 'nfs_server'",
            "allowed here: lustre, additional_lustre, openzfs, s3_mounts",
        ),
        (
            "team: ml",
            r'team: "\e[31m\u202e' + "x" * 300 + '"',
            "ENV-004",
            5,
            r"'\x1b[31m\u202exxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is too long",
            "write text of at most 256 characters",
        ),
    ],
)
def test_a_mistake_is_shown_with_place_allowed_values_and_fix(
    old: str, new: str, rule: str, line: int, message: str, fix: str
) -> None:
    problems = problems_of(sound_with(old, new))
    problem = next(found for found in problems if found.rule == rule)
    assert (problem.where.line, problem.message) == (line, message)
    assert problem.fix.startswith(fix)


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = SOUND.replace("name: dev", "name: Dev").replace("count: 2", "count: two")
    text = text.replace("zone: us-west-2b", "zoen: us-west-2b")
    found = [(problem.rule, problem.where.line) for problem in problems_of(text)]
    assert found == [("ENV-004", 1), ("ENV-003", 7), ("ENV-002", 7), ("ENV-004", 20)]


def test_a_list_whose_entries_all_have_mistakes_is_not_called_too_short() -> None:
    text = SOUND.replace("role:", "rolle:")
    assert {problem.rule for problem in problems_of(text)} == {"ENV-002", "ENV-003"}


def test_what_follows_from_a_reported_line_is_not_reported_again() -> None:
    problem = the_problem_of(sound_with("count: 2", "count: !!float two"))
    assert problem.rule == "ENV-004"
    problem = the_problem_of(sound_with("count: 2", "count: !many two"))
    assert problem.rule == "ENV-001"


@pytest.mark.parametrize("text", ["- a\n- b\n", "dev\n", "5\n", "true\n"])
def test_a_document_that_is_no_mapping_is_one_problem(text: str) -> None:
    problem = the_problem_of(text)
    assert problem.message.endswith("is not a mapping (key: value)")
    assert problem.fix.startswith("write a mapping with the keys edition, name, account, region")


def test_a_document_of_null_is_empty() -> None:
    assert the_problem_of("null\n").message == "the file is empty"


@pytest.mark.parametrize("digits", [4_301, 5_000])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_number_of_thousands_of_digits_is_a_problem_and_no_crash(digits: int, quote: str) -> None:
    problem = the_problem_of(SOUND.replace("count: 2", f"count: {quote}{'9' * digits}{quote}"))
    assert problem.rule == "ENV-004"
    assert problem.fix.startswith("write a whole number from 0 to 6758")


def test_of_tens_of_thousands_of_unknown_keys_the_first_are_told_and_the_rest_counted() -> None:
    text = SOUND + "".join(f"k{number}: 1\n" for number in range(80_000))
    *told, last = problems_of(text)
    assert len(told) == SHOWN
    assert last.message == f"{80_000 - SHOWN} more problems in this file from here on"
    assert last.where.line == told[-1].where.line + 1


def test_no_key_is_guessed_that_is_there_already() -> None:
    problem = the_problem_of(SOUND + "regoin: us-west-2\n")
    assert "'region'" not in problem.fix


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("network:\n  zone: us-west-2b\n  vpc_cidr: 10.0.0.0/16", "network:\n  zone:us-west-2b"),
        (
            "{name: controller, role: controller",
            "{name:controller, role: controller",
        ),
    ],
)
def test_a_missing_blank_that_yaml_takes_for_a_word_is_named(old: str, new: str) -> None:
    text = SOUND.replace(
        "- name: controller\n      role: controller\n      instance_type: ml.m5.large\n",
        "- {name: controller, role: controller, instance_type: ml.m5.large}\n",
    )
    assert old in text
    fixes = [problem.fix for problem in problems_of(text.replace(old, new))]
    assert any(fix.startswith("write a space after the colon: ") for fix in fixes)


@pytest.mark.parametrize("alias", ["alias/ours", "arn:aws:kms:us-west-2:123456789012:alias/ours"])
def test_the_alias_of_a_key_is_told_to_be_one(alias: str) -> None:
    text = SOUND.replace(
        "    capacity_gib: 1200", f"    capacity_gib: 1200\n    kms_key_arn: {alias}"
    )
    problem = the_problem_of(text)
    assert alias in problem.message
    assert problem.fix.startswith("this is an alias: write the ARN of its key")


def test_the_first_entry_too_many_of_a_list_is_pointed_at() -> None:
    tags = "".join(f"  t{number}: x\n" for number in range(41))
    problem = the_problem_of(SOUND.replace("  team: ml\n", tags))
    assert problem.where.path == "tags.t40"
    assert problem.message == "a mapping has too many entries: this is the first of 1 too many"
    types = ", ".join(["ml.m5.xlarge"] * 22)
    problem = the_problem_of(
        SOUND.replace("instance_type: ml.m5.xlarge", f"instance_types: [{types}]")
    )
    assert problem.where.path == "cluster.groups[1].instance_types[20]"
