"""Network flows: every part of an environment brings its traffic, and no other does."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.reading.read import read
from slurmpod.report.flows import INTERNET, PEOPLE, Flow, flows
from slurmpod.resolve import resolve
from tests.golden_files import ROOT
from tests.pure.plan.planned import resolved

EXAMPLES = ROOT / "environments" / "examples"


def of_example(name: str) -> dict[str, Flow]:
    return {flow.name: flow for flow in flows(resolve(read(EXAMPLES / f"{name}.yaml")))}


def test_a_small_environment_has_people_slurm_lustre_and_s3() -> None:
    found = {flow.name: flow for flow in flows(resolved())}
    assert list(found) == ["Sessions", "Internet", "Slurm", "Lustre", "S3"]
    assert found["Lustre"].ends == ("/fsx",)
    assert found["Slurm"].groups == ("controller", "workers")


def test_without_login_nodes_people_open_sessions_on_the_controller() -> None:
    sessions = flows(resolved())[0]
    assert (sessions.groups, sessions.ends) == (("controller",), (PEOPLE,))


def test_nothing_goes_from_a_closed_network_to_the_internet() -> None:
    found = of_example("closed-network")
    assert INTERNET not in {end for flow in found.values() for end in flow.ends}
    assert "logs" in found["Endpoints"].why


def test_only_workers_with_efa_use_it() -> None:
    assert of_example("research-lab")["EFA"].groups == ("g5",)


def test_each_file_system_has_traffic_of_its_own() -> None:
    found = of_example("research-lab")
    ends = {flow.ends for name, flow in found.items() if name.startswith(("Lustre", "NFS"))}
    assert ends == {("/fsx",), ("/scratch",), ("/archive",), ("/home",)}


def test_records_go_from_the_controllers_to_the_database() -> None:
    found = of_example("records-in-rds")["MariaDB"]
    assert (found.groups, found.ends) == (("controller",), ("records-in-rds-records",))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("[!_]*.yaml")), ids=lambda file: file.stem)
def test_all_take_part_that_are_named(file: Path) -> None:
    environment = resolve(read(file))
    names = {group.name for group in environment.groups}
    found = flows(environment)
    assert {name for flow in found for name in flow.groups} == names
    assert len({flow.name for flow in found}) == len(found)
