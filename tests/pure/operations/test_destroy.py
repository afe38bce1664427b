"""What can be destroyed: the last stack first, and the network once nothing is in it."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from slurmpod.operations.destroy import DestroyPlan, plan_destroy
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.fakes import FakeHoldings, file_system
from tests.sound_environment import SOUND

ABOVE = ("dev-cluster", "dev-identity", "dev-lifecycle", "dev-storage")
RDS = "slurm: {rds: {}}\n"


def dev(on_delete: str = "retain", more: str = "") -> Resolved:
    text = SOUND.replace("capacity_gib: 1200", f"capacity_gib: 1200\n    on_delete: {on_delete}")
    return resolve(read_as("dev.yaml", text + more))


@dataclass
class Holdings(FakeHoldings):
    """An account in which these databases are left."""

    databases: tuple[str, ...] = ()

    def is_there(self, resource_type: str, identifier: str) -> bool:
        return identifier in self.databases


def live(resolved: Resolved, *names: str) -> Any:
    """Return an environment of which these stacks are there."""
    return SimpleNamespace(
        resolved=resolved, all_stacks=lambda: [SimpleNamespace(name=name) for name in names]
    )


def plan(
    there: tuple[str, ...],
    resolved: Resolved,
    *file_systems: str,
    only: str = "",
    databases: tuple[str, ...] = (),
) -> DestroyPlan:
    systems = [file_system(each, "lustre") for each in file_systems]
    holdings = Holdings(systems=systems, databases=databases)
    return plan_destroy(live(resolved, *there), holdings, only)  # type: ignore[arg-type]


def test_the_last_stack_goes_first_and_the_network_stays_with_what_is_kept() -> None:
    found = plan((*ABOVE, "dev-network"), dev(), "fs-1")
    assert (found.stacks, found.network, found.holders) == (ABOVE, "dev-network", ("fs-1",))


def test_the_network_goes_where_the_data_go() -> None:
    assert plan((*ABOVE, "dev-network"), dev("delete"), "fs-1").holders == ()


@pytest.mark.parametrize(("file_systems", "is_nothing"), [(("fs-1",), True), ((), False)])
def test_the_network_goes_once_what_was_in_it_was_deleted(
    file_systems: tuple[str, ...], is_nothing: bool
) -> None:
    found = plan(("dev-network",), dev(), *file_systems)
    assert (found.network, found.is_nothing) == ("dev-network", is_nothing)


def test_a_database_that_is_kept_holds_the_network_too() -> None:
    resolved = dev("delete", RDS)
    assert resolved.database
    assert resolved.database.new
    name = resolved.database.new.identifier
    found = plan((*ABOVE, "dev-database", "dev-network"), resolved, databases=(name,))
    assert found.holders == (name,)


def test_one_stack_may_go_alone() -> None:
    found = plan((*ABOVE, "dev-network"), dev(), "fs-1", only="dev-cluster")
    assert (found.stacks, found.network) == (("dev-cluster",), "")


def test_stacks_that_the_file_does_not_describe_are_told() -> None:
    assert plan((*ABOVE, "dev-monitoring"), dev()).unknown == ("dev-monitoring",)


def test_an_environment_that_is_gone_is_nothing() -> None:
    assert plan((), dev()).is_nothing


def test_a_notebook_that_is_kept_holds_the_network_too() -> None:
    notebook = "services: {notebook: {on_delete: %s}}\n"
    arn = "arn:aws:sagemaker:us-west-2:123456789012:notebook-instance/dev"
    there = (*ABOVE, "dev-network")
    found = plan(there, dev("delete", notebook % "retain"), databases=(arn,))
    assert found.holders == (arn,)
    gone = plan(("dev-notebook", *there), dev("delete", notebook % "delete"), databases=(arn,))
    assert (gone.stacks[0], gone.holders) == ("dev-notebook", ())
