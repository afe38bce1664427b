"""Home directories: made where they are missing, and nobody's is given to somebody else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Access, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.homes import PROGRAM, PROGRAM_TEXT, Homes, owners
from tests.pure.lifecycle.fakes import NO_PEOPLE, machine_of, node
from tests.pure.lifecycle.people import ACCESS, DIRECTORY


def step(found: str, *, role: Role = Role.WORKER, access: Access = ACCESS) -> Homes:
    step = Homes(node(role, access=access))
    machine_of(step.node).reply("find /fsx/home", found)
    return step


def made(step: Homes) -> list[str]:
    return [line for line in machine_of(step.node).ran if line.startswith(PROGRAM)]


def test_only_missing_homes_are_made() -> None:
    homes = step("20001 alice\n0 lost+found\n")
    assert not homes.is_done()
    assert homes.apply() == "2 homes in /fsx/home, 1 of them new"
    assert made(homes) == [
        f"{PROGRAM} /fsx/home/bob /fsx/home/.bob.ip-10-0-128-20 20002:20002 bob yes"
    ]
    machine = machine_of(homes.node)
    assert (machine.files[PROGRAM], machine.access[PROGRAM][0]) == (PROGRAM_TEXT, 0o755)


def test_a_home_that_is_there_is_left_as_it_is() -> None:
    assert step("20001 alice\n20002 bob\n").is_done()


def test_without_a_folder_of_homes_all_are_missing() -> None:
    homes = step("")
    machine_of(homes.node).fail("test -d /fsx/home")
    homes.apply()
    assert len(made(homes)) == 2


def test_homes_on_the_nodes_own_disk_have_no_keys() -> None:
    homes = step("", access=replace(ACCESS, homes_shared=False))
    homes.apply()
    assert made(homes)[0].endswith(" alice ")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("30 alice\n", "/fsx/home/alice belongs to the id 30, not 20001"),
        ("20001 carl\n", "/fsx/home/carl belongs to the id 20001, now the id of alice"),
    ],
)
def test_files_of_somebody_else_are_given_to_nobody(found: str, said: str) -> None:
    homes = step(found)
    with pytest.raises(StepFailed, match=said) as failure:
        homes.apply()
    assert not isinstance(failure.value, NotYet)
    assert made(homes) == []


def test_a_folder_beside_ones_home_is_no_dispute() -> None:
    homes = step("20001 alice\n20001 alice-scratch\n")
    assert homes.apply() == "2 homes in /fsx/home, 1 of them new"


def test_folders_that_vanish_while_they_are_listed_are_no_failure() -> None:
    homes = step("")
    homes.is_done()
    assert "find /fsx/home -ignore_readdir_race " in machine_of(homes.node).ran[-1]


def test_a_home_that_another_node_is_making_belongs_to_nobody_yet() -> None:
    assert owners("20001 .alice.ip-10-0-0-1\n5 a b\n") == {"a b": 5}


def test_where_root_may_not_make_homes_the_controller_has_to() -> None:
    homes = step("")
    machine_of(homes.node).fail(PROGRAM, "Permission denied")
    assert homes.apply().startswith("warning: the controller has to make homes: Permission denied")
    homes = step("", role=Role.CONTROLLER)
    machine_of(homes.node).fail(PROGRAM, "Permission denied")
    with pytest.raises(StepFailed, match="Permission denied") as failure:
        homes.apply()
    assert "except_nids" in failure.value.fix


def test_the_controller_makes_homes_for_people_of_the_directory() -> None:
    access = replace(ACCESS, users=(), directory=DIRECTORY)
    homes = step("", role=Role.CONTROLLER, access=access)
    machine = machine_of(homes.node)
    machine.reply("getent group hpc users", "hpc users:*:40101:dora\n")
    machine.fail("getent group guests")
    machine.reply("getent passwd dora", "dora:*:40001:40100:Dora:/x:/bin/bash\n")
    homes.apply()
    assert [line.split()[3:5] for line in made(homes)] == [["40001:40100", "dora"]]
    assert made(step("", access=access)) == []


def test_is_there_for_people_only() -> None:
    assert not Homes.applies_to(node(Role.WORKER))
    assert Homes.applies_to(node(Role.WORKER, access=replace(NO_PEOPLE, directory=DIRECTORY)))
