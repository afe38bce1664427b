"""Everything that holds data, through everything that can happen to its stack."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from embedded_aws.resources.ec2_network import Subnet
from embedded_aws.resources.provider import ProviderError
from tests.cloud.embedded_file_systems import NETWORK, lustre
from tests.cloud.embedded_stacks import REGION, Outcome, Stacks, resource
from tests.cloud.nothing_lost_kinds import Kind, in_network, kinds, retained
from tests.cloud.nothing_lost_table import ROWS, Event, Fate, Way, page_with_table
from tests.golden_files import ROOT, assert_matches

BROKEN = resource("EC2::Subnet", depends_on="Data", VpcId="vpc-00000000", CidrBlock="10.9.0.0/24")
"""What fails after the data's resource has been made or changed."""

FACTS: dict[Fate, tuple[str, int, bool]] = {
    Fate.STAYS: ("DELETE_COMPLETE", 1, False),
    Fate.STAYS_IN_STACK: ("UPDATE_ROLLBACK_COMPLETE", 1, True),
    Fate.NEW_BESIDE_OLD: ("UPDATE_COMPLETE", 2, False),
    Fate.REFUSED: ("UPDATE_ROLLBACK_COMPLETE", 1, True),
    Fate.GONE: ("ROLLBACK_COMPLETE", 0, False),
    Fate.GONE_IF_EMPTY: ("ROLLBACK_COMPLETE", 0, False),
    Fate.KEPT_BY_SERVICE: ("ROLLBACK_FAILED", 1, True),
}
"""How the stack ends, how many there are then, and whether the first one is in the stack."""

CELLS = [
    (name, event)
    for name, row in ROWS.items()
    for event in row.fates
    if name != "network"  # has tests of its own below
]


@pytest.fixture(scope="module")
def place(stacks: Stacks) -> dict[str, str]:
    """A network in which file systems and servers lie."""
    second = {**NETWORK["Subnet"]["Properties"], "CidrBlock": "10.0.1.0/24"}
    second["AvailabilityZone"] = f"{REGION}b"
    made = stacks.deploy("place", {**NETWORK, "Second": resource("EC2::Subnet", **second)})
    assert made.status == "CREATE_COMPLETE", made.reasons
    return made.ids


class Case:
    """One kind of resource in one stack of its own."""

    def __init__(self, stacks: Stacks, kind: Kind, name: str) -> None:
        self.stacks, self.kind, self.name = stacks, kind, name
        self.before = set(kind.all_ids(stacks.clients))

    def deploy(self, *, other: bool = False, as_: str = "Data", **more: Any) -> Outcome:
        definition = self.kind.definition(self.name, other)
        return self.stacks.deploy(self.name, {**self.kind.beside, as_: definition, **more})

    def marked(self) -> str:
        made = self.deploy()
        assert made.status == "CREATE_COMPLETE", made.reasons
        self.kind.mark(self.stacks.clients, made.ids["Data"])
        return made.ids["Data"]

    def is_marked(self, id_: str) -> bool:
        return self.kind.is_marked(self.stacks.clients, id_)

    def holds(self, id_: str) -> bool:
        """Return whether the stack is there and has the resource."""
        try:
            found = self.stacks.clients.service("cloudformation").describe_stack_resources(
                StackName=self.name
            )["StackResources"]
        except ClientError:
            return False
        status = {each.get("PhysicalResourceId"): each["ResourceStatus"] for each in found}
        return id_ in status and status[id_] not in {"DELETE_COMPLETE", "DELETE_SKIPPED"}

    def there_are(self) -> int:
        return len(set(self.kind.all_ids(self.stacks.clients)) - self.before)

    def take_in(self, id_: str) -> None:
        """Import what was left into a new stack of the same name."""
        api = self.stacks.clients.service("cloudformation")
        template = {
            "Resources": {"Data": _without_references(self.kind.definition(self.name, False))}
        }
        summary = api.get_template_summary(TemplateBody=json.dumps(template))
        names = [each["ResourceIdentifiers"] for each in summary["ResourceIdentifierSummaries"]]
        api.create_change_set(
            StackName=self.name,
            ChangeSetName="import",
            ChangeSetType="IMPORT",
            TemplateBody=json.dumps(template),
            ResourcesToImport=[
                {
                    "ResourceType": template["Resources"]["Data"]["Type"],
                    "LogicalResourceId": "Data",
                    "ResourceIdentifier": {names[0][0] if names else "Id": id_},
                }
            ],
        )
        api.execute_change_set(StackName=self.name, ChangeSetName="import")
        api.get_waiter("stack_import_complete").wait(StackName=self.name, WaiterConfig={"Delay": 1})


def _without_references(definition: dict[str, Any]) -> dict[str, Any]:
    properties = {k: v for k, v in definition["Properties"].items() if not isinstance(v, dict)}
    return {**definition, "Properties": properties}


@pytest.fixture
def case(
    stacks: Stacks, place: dict[str, str], request: pytest.FixtureRequest
) -> Callable[[str], Case]:
    number = len(stacks.clients.service("cloudformation").list_stacks()["StackSummaries"])

    def make(name: str) -> Case:
        return Case(stacks, kinds(place)[name], f"{name.replace('_', '-')}-{number}")

    return make


def happen(case: Case, event: Event) -> tuple[Outcome, str]:
    """Let the event happen to marked data; return how it ended and which resource has the data."""
    if event is Event.FAILED_CREATION:
        outcome = case.deploy(Broken=BROKEN)
        return outcome, outcome.ids.get("Data", "")
    id_ = case.marked()
    if event is Event.DESTROY:
        return case.stacks.delete(case.name), id_
    if event is Event.RENAME:
        return case.deploy(as_="Other"), id_
    if event is Event.REPLACE:
        return case.deploy(other=True), id_
    is_replaced = ROWS_REPLACED[case.name.rpartition("-")[0].replace("-", "_")]
    return case.deploy(other=is_replaced, Broken=BROKEN), id_


ROWS_REPLACED = {
    name: row.fates.get(Event.REPLACE) is Fate.NEW_BESIDE_OLD for name, row in ROWS.items()
}
"""Where a failed update has replaced the resource before it fails; else it only comes after it."""


@pytest.mark.parametrize(("name", "event"), CELLS)
def test_what_is_there_afterwards(case: Callable[[str], Case], name: str, event: Event) -> None:
    one = case(name)
    status, count, is_in_stack = FACTS[ROWS[name].fates[event]]
    outcome, id_ = happen(one, event)

    assert outcome.status == status, outcome.reasons
    assert one.there_are() == count
    assert one.holds(id_) is is_in_stack
    if event is not Event.FAILED_CREATION:
        assert one.is_marked(id_)


@pytest.mark.parametrize("name", [name for name in ROWS if name != "network"])
def test_how_it_is_taken_back(case: Callable[[str], Case], name: str) -> None:
    one = case(name)
    id_ = one.marked()
    one.stacks.delete(one.name)

    if ROWS[name].way is Way.LINES:
        with pytest.raises(
            ClientError, match=r"AWS::FSx::FileSystem. are not supported for Import"
        ):
            one.take_in(id_)
    else:
        one.take_in(id_)
        assert one.holds(id_)
        assert one.is_marked(id_)


@pytest.mark.parametrize("name", ["lustre", "openzfs", "bucket", "log_group", "key", "prometheus"])
def test_a_failed_creation_does_not_block_the_next(case: Callable[[str], Case], name: str) -> None:
    one = case(name)
    one.deploy(Broken=BROKEN)
    one.stacks.delete(one.name)
    assert one.deploy().status == "CREATE_COMPLETE"


def test_what_a_failed_creation_wrote_stays_and_comes_back(
    case: Callable[[str], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = case("bucket")

    def write_and_fail(*_: object) -> str:
        one.kind.mark(one.stacks.clients, one.name)
        raise ProviderError("the rest failed")

    monkeypatch.setattr(Subnet, "create", write_and_fail)
    failed = one.deploy(Broken=BROKEN)
    deleted = one.stacks.delete(one.name)
    again = one.deploy()
    one.stacks.delete(one.name)
    one.take_in(one.name)

    assert failed.status == "ROLLBACK_FAILED"
    assert "not empty" in failed.reasons
    assert deleted.status == "DELETE_COMPLETE"
    assert (again.status, "already" in again.reasons) == ("ROLLBACK_COMPLETE", True)
    assert one.is_marked(one.name)


class TestNetwork:
    """A network is not retained; what lies in it keeps what it needs of it."""

    @pytest.fixture
    def ids(self, stacks: Stacks) -> dict[str, str]:
        """Make a network and, in a stack of its own, a file system in it."""
        made = stacks.deploy("net", NETWORK)
        stacks.deploy("files", {"Files": retained(in_network(lustre(), made.ids))})
        return made.ids

    def test_it_survives_as_far_as_it_is_needed(self, stacks: Stacks, ids: dict[str, str]) -> None:
        ec2 = stacks.clients.ec2
        stacks.delete("files")
        broken = {**BROKEN, "DependsOn": "Subnet"}
        more = {**NETWORK, "More": {**NETWORK["Subnet"], "DependsOn": "Subnet"}}
        more["More"]["Properties"] = {**more["More"]["Properties"], "CidrBlock": "10.0.1.0/24"}
        updated = stacks.deploy("net", {**more, "Broken": broken})
        deleted = stacks.delete("net")

        assert (updated.status, updated.ids) == ("UPDATE_ROLLBACK_COMPLETE", ids)
        assert deleted.status == "DELETE_FAILED"
        assert "Created by Amazon FSx" in deleted.reasons
        assert {deleted.ids[name] for name in ("Vpc", "Subnet", "Group")} <= set(ids.values())
        assert ec2.describe_subnets(SubnetIds=[ids["Subnet"]])["Subnets"]
        assert ec2.describe_security_groups(GroupIds=[ids["Group"]])["SecurityGroups"]

    def test_a_failed_creation_leaves_nothing(self, stacks: Stacks) -> None:
        before = len(stacks.clients.ec2.describe_vpcs()["Vpcs"])
        failed = stacks.deploy("net2", {**NETWORK, "Broken": {**BROKEN, "DependsOn": "Subnet"}})
        assert failed.status == "ROLLBACK_COMPLETE"
        assert len(stacks.clients.ec2.describe_vpcs()["Vpcs"]) == before


def test_the_page_has_this_table(update_golden: bool) -> None:
    page = ROOT / "docs" / "nothing-lost.md"
    assert_matches(page, page_with_table(page.read_text()), update=update_golden)
