"""What was deployed, in the templates of stacks that are gone."""

from __future__ import annotations

from typing import cast

import pytest

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.deployment import Deployment
from slurmpod.aws.inventory import AccountInventory
from slurmpod.aws.stack import Stack
from slurmpod.deployment_record import record
from slurmpod.operations.deployed import Deployed, deployed_environment
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.fakes import FakeHoldings
from tests.sound_environment import SOUND

MADE, GONE, NEVER_MADE = "CREATE_COMPLETE", "DELETE_COMPLETE", ""


def environment(capacity_gib: int = 1200, more: str = "") -> Resolved:
    text = SOUND.replace("capacity_gib: 1200", f"capacity_gib: {capacity_gib}")
    return resolve(read_as("dev.yaml", f"{text}{more}"))


class Holdings(FakeHoldings):
    """Stacks of clusters, with the records that they made."""

    def add_cluster(self, resolved: Resolved, status: str, *, parameters: str = GONE) -> None:
        written = record(resolved)
        kind = "AWS::SSM::Parameter"
        names = {f"Part{number}": name for number, name in enumerate(written)}
        made = {each: (kind, name, parameters) for each, name in names.items()}
        stack = self.add(resolved.stacks.cluster, status, **(made if parameters else {}))
        self.templates[stack.arn]["Resources"] = {
            each: {"Type": kind, "Properties": {"Name": name, "Value": written[name]}}
            for each, name in names.items()
        }


class Account:
    """An account in which only the network of the environment may be left."""

    clients = None

    def __init__(self, **parameters: str) -> None:
        self._parameters = parameters

    def id(self) -> str:
        return "123456789012"

    def parameters(self, folder: str) -> dict[str, str]:
        return {f"{folder}/{name}": value for name, value in self._parameters.items()}


@pytest.fixture
def holdings(monkeypatch: pytest.MonkeyPatch) -> Holdings:
    holdings = Holdings()

    def stacks(_: Deployment, names: tuple[str, ...]) -> list[Stack]:
        live = {each.name for each in holdings.records if each.status != GONE}
        return [Stack(name, MADE, "", {}) for name in names if name in live]

    monkeypatch.setattr(Deployment, "stacks", stacks)
    return holdings


def found(holdings: Holdings, **parameters: str) -> Deployed | None:
    account = cast("AwsAccount", Account(**parameters))
    return deployed_environment(account, cast("AccountInventory", holdings), environment())


def capacity(deployed: Deployed | None) -> object:
    assert deployed
    assert deployed.record
    return deployed.record["storage"]["lustre"]["capacity_gib"]


def test_nothing_is_deployed_where_no_stack_is(holdings: Holdings) -> None:
    holdings.add_cluster(environment(), GONE)
    assert found(holdings) is None


def test_the_parameters_tell_of_the_cluster_that_is_there(holdings: Holdings) -> None:
    holdings.add_cluster(environment(capacity_gib=2400), GONE)
    holdings.add("dev-cluster", MADE)
    deployed = found(holdings, **{"00": next(iter(record(environment()).values()))})
    assert deployed
    assert deployed.has_cluster
    assert (capacity(deployed), deployed.stacks) == (1200, ("dev-cluster",))


def test_of_clusters_that_are_gone_the_last_tells(holdings: Holdings) -> None:
    holdings.add("dev-network", MADE)
    holdings.add_cluster(environment(), GONE)
    holdings.add_cluster(environment(capacity_gib=2400), GONE)
    deployed = found(holdings)
    assert deployed
    assert not deployed.has_cluster
    assert (capacity(deployed), deployed.stacks) == (2400, ("dev-network",))


def test_a_cluster_that_was_never_whole_tells_nothing(holdings: Holdings) -> None:
    holdings.add("dev-network", MADE)
    holdings.add_cluster(environment(), GONE)
    holdings.add_cluster(environment(capacity_gib=2400), GONE, parameters=NEVER_MADE)
    assert capacity(found(holdings)) == 1200


def test_a_stack_that_cannot_be_deleted_tells_too(holdings: Holdings) -> None:
    holdings.add_cluster(environment(), "DELETE_FAILED")
    deployed = found(holdings)
    assert deployed
    assert not deployed.has_cluster
    assert capacity(deployed) == 1200


def test_what_nobody_remembers_is_not_known(holdings: Holdings) -> None:
    holdings.add("dev-network", MADE)
    deployed = found(holdings)
    assert deployed
    assert deployed.record is None


def test_a_record_of_several_parts_is_put_together(holdings: Holdings) -> None:
    people = "".join(f"    - {{name: user{n}, uid: {20000 + n}}}\n" for n in range(200))
    resolved = environment(more=f"access:\n  users:\n{people}")
    assert len(record(resolved)) > 1
    holdings.add("dev-network", MADE)
    holdings.add_cluster(resolved, GONE)
    deployed = found(holdings)
    assert deployed
    assert deployed.record
    assert len(deployed.record["access"]["users"]) == 200
