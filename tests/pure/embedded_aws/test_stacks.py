"""What happens to stacks, as CloudFormation documents it, without any real resource."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.cloudformation import changes, deployment
from embedded_aws.cloudformation.engine import NO_CHANGES
from embedded_aws.errors import ServiceError
from embedded_aws.templates.template import ResourceDefinition
from tests.pure.embedded_aws.cloud_fakes import REGION, Lab, statuses, thing


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(monkeypatch)


def test_creates_in_dependency_order_and_resolves_outputs(lab: Lab) -> None:
    stack = lab.deploy(
        Second=thing(Needs={"Ref": "First"}),
        First=thing(Size="3"),
        outputs={"Size": {"Value": {"Fn::GetAtt": ["First", "Size"]}}},
    )

    assert lab.things.calls == ["create First", "create Second"]
    assert stack.resources["Second"].properties["Needs"] == stack.resources["First"].physical_id
    assert stack.outputs == {"Size": "3"}
    assert statuses(stack, "First") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    assert statuses(stack, "s") == ["REVIEW_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"]


def test_a_stack_is_in_progress_while_its_resources_are_made(lab: Lab) -> None:
    lab.things.may_complete.clear()
    lab.change_set(First=thing())
    operation = lab.engine.execute_change_set(REGION, "s", "c")
    stack = lab.engine.stacks.find(REGION, "s")

    assert stack.status == "CREATE_IN_PROGRESS"
    with pytest.raises(ServiceError, match="CREATE_IN_PROGRESS state and can not be updated"):
        lab.change_set(First=thing(Size="2"))

    lab.things.may_complete.set()
    operation.join()
    assert stack.status == "CREATE_COMPLETE"


def test_a_deletion_waits_for_the_running_creation(lab: Lab) -> None:
    lab.things.may_complete.clear()
    lab.change_set(First=thing())
    lab.engine.execute_change_set(REGION, "s", "c")
    deletion = lab.engine.delete_stack(REGION, "s")
    lab.things.may_complete.set()
    deletion.join()

    assert lab.things.existing == {}
    assert lab.engine.stacks.active(REGION) == []


def test_a_failed_creation_deletes_what_it_made_newest_first(lab: Lab) -> None:
    stack = lab.deploy(A=thing(), B=thing(Needs={"Ref": "A"}), C=thing(Size="bad"))

    assert stack.status == "ROLLBACK_COMPLETE"
    assert lab.things.existing == {}
    assert lab.things.calls[-3:] == ["delete C", "delete B", "delete A"]
    assert [e.reason for e in stack.events if e.status == "CREATE_FAILED"] == ["it fell over"]
    (rollback,) = [e for e in stack.events if e.status == "ROLLBACK_IN_PROGRESS"]
    assert rollback.reason.startswith("The following resource(s) failed to create: [C].")


def test_a_rollback_keeps_retained_resources_but_not_those_retained_except_on_create(
    lab: Lab,
) -> None:
    stack = lab.deploy(
        Kept=thing(keep="Retain"),
        Gone=thing(keep="RetainExceptOnCreate"),
        Bad=thing(Size="impossible", Needs=[{"Ref": "Kept"}, {"Ref": "Gone"}]),
    )

    assert stack.status == "ROLLBACK_COMPLETE"
    assert len(lab.things.existing) == 1
    assert statuses(stack, "Kept")[-1] == "DELETE_SKIPPED"
    assert statuses(stack, "Gone")[-1] == "DELETE_COMPLETE"


def test_deletes_a_stack_but_not_what_it_retains(lab: Lab) -> None:
    lab.deploy(A=thing(keep="Retain"), B=thing(keep="RetainExceptOnCreate"), C=thing())
    stack = lab.engine.stacks.find(REGION, "s")
    lab.delete()

    assert stack.status == "DELETE_COMPLETE"
    assert len(lab.things.existing) == 2
    assert statuses(stack, "A")[-1] == statuses(stack, "B")[-1] == "DELETE_SKIPPED"
    assert lab.engine.stacks.find(REGION, stack.arn) is stack
    with pytest.raises(ServiceError, match="Stack with id s does not exist"):
        lab.engine.stacks.find(REGION, "s")


def test_a_deletion_that_fails_says_which_resource(lab: Lab) -> None:
    lab.deploy(A=thing(), B=thing(Needs={"Ref": "A"}))
    lab.things.undeletable.add("A")
    lab.delete()
    stack = lab.engine.stacks.find(REGION, "s")

    assert (stack.status, stack.reason.strip()) == (
        "DELETE_FAILED",
        "The following resource(s) failed to delete: [A].",
    )
    assert list(stack.resources) == ["A"]

    lab.things.undeletable.clear()
    lab.delete()
    assert lab.things.existing == {}


def test_termination_protection_refuses_deletion(lab: Lab) -> None:
    lab.deploy(A=thing()).termination_protection = True

    with pytest.raises(ServiceError, match="TerminationProtection is enabled"):
        lab.delete()


def test_a_change_set_without_changes_is_recognizable(lab: Lab) -> None:
    lab.deploy(A=thing(Size="1"))
    change_set = lab.change_set(A=thing(Size="1"))

    assert (change_set.status, change_set.reason) == ("FAILED", NO_CHANGES)
    with pytest.raises(ServiceError, match="cannot be executed"):
        lab.engine.execute_change_set(REGION, "s", "c")


def test_an_update_touches_only_what_changes(lab: Lab) -> None:
    lab.deploy(A=thing(Size="1"), B=thing(Size="1"), C=thing())
    lab.things.calls.clear()
    stack = lab.deploy(A=thing(Size="1"), B=thing(Size="2"), D=thing())

    assert lab.things.calls == ["update B", "create D", "delete C"]
    assert stack.status == "UPDATE_COMPLETE"
    assert sorted(stack.resources) == ["A", "B", "D"]


def test_a_change_set_says_what_will_be_replaced_and_what_follows_from_it(lab: Lab) -> None:
    lab.deploy(A=thing(Name="old"), B=thing(Needs={"Ref": "A"}), C=thing())
    change_set = lab.change_set(A=thing(Name="new"), B=thing(Needs={"Ref": "A"}), D=thing())

    assert [(c.action, c.logical_id, c.replacement) for c in change_set.changes] == [
        ("Modify", "A", True),
        ("Modify", "B", False),
        ("Add", "D", False),
        ("Remove", "C", False),
    ]


def test_a_replacement_is_made_before_the_old_one_goes(lab: Lab) -> None:
    old = lab.deploy(A=thing(Name="old"), B=thing(Needs={"Ref": "A"})).resources["A"].physical_id
    lab.things.calls.clear()
    stack = lab.deploy(A=thing(Name="new"), B=thing(Needs={"Ref": "A"}))

    assert lab.things.calls == ["create A", "update B", "delete A"]
    assert old not in lab.things.existing
    assert stack.resources["B"].properties["Needs"] == stack.resources["A"].physical_id


def test_what_an_update_makes_superfluous_goes_dependents_first(lab: Lab) -> None:
    lab.deploy(
        Base=thing(Name="old"),
        Removed=thing(Needs={"Ref": "Base"}),
        Replaced=thing(Name="old", Needs={"Ref": "Removed"}),
    )
    lab.things.calls.clear()
    lab.deploy(Base=thing(Name="new"), Replaced=thing(Name="new", Needs={"Ref": "Base"}))

    assert lab.things.calls == [
        "create Base",
        "create Replaced",
        "delete Replaced",
        "delete Removed",
        "delete Base",
    ]


def test_a_replaced_resource_may_be_retained(lab: Lab) -> None:
    lab.deploy(A=thing(Name="old", keep="Retain"))
    lab.deploy(A=thing(Name="new", keep="Retain"))

    assert [p["Name"] for p in lab.things.existing.values()] == ["old", "new"]


def test_a_failed_update_restores_everything(lab: Lab) -> None:
    lab.deploy(A=thing(Name="old"), B=thing(Size="1"), C=thing(Size="1"), D=thing())
    before = dict(lab.things.existing)
    stack = lab.deploy(A=thing(Name="new"), B=thing(Size="2"), N=thing(), C=thing(Size="bad"))

    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert lab.things.existing == before
    assert sorted(stack.resources) == ["A", "B", "C", "D"]
    assert [e.logical_id for e in stack.events if e.status == "UPDATE_FAILED"] == ["C"]
    assert lab.deploy(B=thing(Size="3")).status == "UPDATE_COMPLETE"


def test_a_change_that_is_not_supported_is_refused_before_anything_changes(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.deploy(A=thing(Size="1"))
    monkeypatch.setattr(type(lab.things), "in_place", frozenset({"Tags"}))

    with pytest.raises(ServiceError, match=r"Size of Test::Thing \(A\) cannot be changed .* Tags"):
        lab.change_set(A=thing(Size="2"))


def test_a_change_that_turns_out_unsupported_fails_the_update_only(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.deploy(A=thing(Size="1"), B=thing(Needs={"Fn::GetAtt": ["A", "Size"]}))
    monkeypatch.setattr(type(lab.things), "in_place", frozenset({"Size"}))
    stack = lab.deploy(A=thing(Size="2"), B=thing(Needs={"Fn::GetAtt": ["A", "Size"]}))

    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert [p.get("Size") for p in lab.things.existing.values()] == ["1", None]


def test_unsupported_types_and_properties_are_refused_together_and_by_name(lab: Lab) -> None:
    with pytest.raises(ServiceError) as refused:
        lab.change_set(
            Table={"Type": "AWS::DynamoDB::Table"},
            Custom={"Type": "Custom::Nobody"},
            Thing=thing(Colour="red"),
        )

    assert refused.value.message.splitlines() == [
        "AWS::DynamoDB::Table (Table) is not supported by the embedded AWS",
        (
            "Custom::Nobody (Custom) needs the property ServiceToken: the ARN of the function that "
            "creates it"
        ),
        (
            "Property Colour of Test::Thing (Thing) is not supported by the embedded AWS; "
            "it knows Name, Needs, Size, Tags"
        ),
    ]
    assert lab.engine.stacks.active(REGION) == []


def test_stack_tags_reach_the_resources_and_yield_to_their_own(lab: Lab) -> None:
    lab.change_set(A=thing(Tags=[{"Key": "b", "Value": "own"}]), tags={"a": "stack", "b": "stack"})
    lab.engine.execute_change_set(REGION, "s", "c").join()

    (properties,) = lab.things.existing.values()
    assert properties["Tags"] == [{"Key": "a", "Value": "stack"}, {"Key": "b", "Value": "own"}]


def test_reads_outputs_and_exports_of_other_stacks(lab: Lab) -> None:
    lab.deploy(
        "producer",
        A=thing(),
        outputs={"Id": {"Value": {"Ref": "A"}, "Export": {"Name": "shared"}}},
    )
    weak = {"Fn::GetStackOutput": {"StackName": "producer", "OutputName": "Id"}}
    stack = lab.deploy("consumer", B=thing(Needs=[weak, {"Fn::ImportValue": "shared"}]))

    assert stack.resources["B"].properties["Needs"] == ["thing-1", "thing-1"]
    with pytest.raises(ServiceError, match="shared cannot be deleted as it is in use by consumer"):
        lab.delete("producer")


def test_a_reference_to_a_stack_that_is_not_there_says_to_deploy_it(lab: Lab) -> None:
    weak = {"Fn::GetStackOutput": {"StackName": "producer", "OutputName": "Id"}}

    with pytest.raises(ServiceError, match="Stack producer in us-west-2 has no output Id"):
        lab.change_set(B=thing(Needs=weak))


def test_an_attribute_that_does_not_exist_fails_its_resource(lab: Lab) -> None:
    stack = lab.deploy(A=thing(), B=thing(Needs={"Fn::GetAtt": ["A", "Weight"]}))

    assert stack.status == "ROLLBACK_COMPLETE"
    (failed,) = [e for e in stack.events if e.status == "CREATE_FAILED"]
    assert failed.logical_id == "B"
    assert "does not support attribute type Weight" in failed.reason


def test_events_are_distinguishable_by_the_millisecond(lab: Lab) -> None:
    stack = lab.deploy(A=thing(), B=thing(), C=thing())
    moments = [int(event.timestamp.timestamp() * 1000) for event in stack.events]

    assert moments == sorted(set(moments))


def test_a_bug_in_a_provider_ends_the_stack_instead_of_leaving_it_in_progress(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(type(lab.things), "create", broken)
    stack = lab.deploy(A=thing())

    assert stack.status == "ROLLBACK_COMPLETE"
    assert any("Internal error of the embedded AWS" in event.reason for event in stack.events)
    assert "ZeroDivisionError" in caplog.text


def break_deployments_of(logical_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is not a resource's own failure happen in the middle of the next operation."""

    def resolve(definition: ResourceDefinition, *others: Any) -> dict[str, Any]:
        if definition.logical_id == logical_id:
            raise ZeroDivisionError
        return changes.resolve_properties(definition, *others)

    monkeypatch.setattr(deployment, "resolve_properties", resolve)


@pytest.mark.parametrize("before", [{}, {"Kept": thing(Size="1")}])
def test_a_bug_outside_of_providers_is_rolled_back(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, before: dict[str, Any]
) -> None:
    if before:
        lab.deploy(**before)
    break_deployments_of("Never", monkeypatch)
    stack = lab.deploy(Kept=thing(Size="2"), Made=thing(), Never=thing(Needs={"Ref": "Made"}))

    prefix = "UPDATE_ROLLBACK" if before else "ROLLBACK"
    assert stack.status == f"{prefix}_COMPLETE"
    assert stack.resources.keys() == before.keys()
    assert [each["Size"] for each in lab.things.existing.values()] == ["1"] * len(before)
    (rollback,) = [event for event in stack.events if event.status == f"{prefix}_IN_PROGRESS"]
    assert "Internal error of the embedded AWS: ZeroDivisionError()" in rollback.reason


def test_tags_that_are_none_are_refused_where_the_stack_has_tags(lab: Lab) -> None:
    for tags in ({"a": "b"}, ["a"], [{"Key": "a"}], 5):
        with pytest.raises(ServiceError, match=r"Resource A: .* #/Tags: expected type: JSONArray"):
            lab.change_set(A=thing(Tags=tags), tags={"team": "ml"})


def test_a_cancelled_update_goes_no_further_and_is_rolled_back(lab: Lab) -> None:
    lab.deploy(Kept=thing())
    lab.things.may_complete.clear()
    lab.change_set(Kept=thing(), Started=thing(), Never=thing(Needs={"Ref": "Started"}, Size="9"))
    operation = lab.engine.execute_change_set(REGION, "s", "c")

    lab.engine.cancel_update(REGION, "s")
    lab.things.may_complete.set()
    operation.join()

    stack = lab.engine.stacks.find(REGION, "s")
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "create Never" not in lab.things.calls
    assert list(stack.resources) == ["Kept"]
    with pytest.raises(ServiceError, match="cannot be called from current stack status: UPDATE_R"):
        lab.engine.cancel_update(REGION, "s")


def broken_roll_back(lab: Lab) -> None:
    """Leave an update whose roll-back cannot delete what it created."""
    lab.deploy(Kept=thing(Size="1"))
    lab.things.undeletable.add("Stuck")
    stack = lab.deploy(Kept=thing(Size="2"), Stuck=thing(), Bad=thing(Size="bad"))
    assert stack.status == "UPDATE_ROLLBACK_FAILED"


def test_a_roll_back_that_failed_goes_on_once_its_cause_is_gone(lab: Lab) -> None:
    broken_roll_back(lab)
    lab.engine.continue_roll_back(REGION, "s", ()).join()
    assert lab.engine.stacks.find(REGION, "s").status == "UPDATE_ROLLBACK_FAILED"

    lab.things.undeletable.clear()
    lab.engine.continue_roll_back(REGION, "s", ()).join()

    stack = lab.engine.stacks.find(REGION, "s")
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert list(stack.resources) == ["Kept"]
    assert [each["Size"] for each in lab.things.existing.values()] == ["1"]


def test_a_roll_back_that_failed_goes_on_without_what_is_skipped(lab: Lab) -> None:
    broken_roll_back(lab)

    lab.engine.continue_roll_back(REGION, "s", ["Stuck"]).join()

    stack = lab.engine.stacks.find(REGION, "s")
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert stack.resources["Stuck"].status == "UPDATE_COMPLETE"
    assert stack.resources["Kept"].properties == {"Size": "1"}
    with pytest.raises(ServiceError, match="ContinueUpdateRollback cannot be called"):
        lab.engine.continue_roll_back(REGION, "s", ())


@pytest.mark.parametrize("skipped", [(), ("Stuck",)])
def test_what_a_failed_update_could_not_delete_goes_with_the_stack(
    lab: Lab, skipped: tuple[str, ...]
) -> None:
    lab.deploy(Kept=thing())
    lab.things.undeletable.add("Stuck")
    stack = lab.deploy(Kept=thing(), Stuck=thing(Needs={"Ref": "Kept"}), Bad=thing(Size="bad"))
    if skipped:
        lab.engine.continue_roll_back(REGION, "s", skipped).join()

    lab.delete()
    assert stack.status == "DELETE_FAILED"
    assert stack.reason.strip().endswith("failed to delete: [Stuck].")
    assert sorted(stack.resources) == ["Kept", "Stuck"]

    lab.things.undeletable.clear()
    lab.delete()
    assert stack.status == "DELETE_COMPLETE"
    assert lab.things.calls[-2:] == ["delete Stuck", "delete Kept"]
    assert lab.things.existing == {}


def test_what_a_failed_update_could_not_delete_goes_with_the_next_update(lab: Lab) -> None:
    broken_roll_back(lab)
    lab.engine.continue_roll_back(REGION, "s", ["Stuck"]).join()
    lab.things.undeletable.clear()

    assert list(lab.deploy(Kept=thing(Size="2")).resources) == ["Kept"]
    assert len(lab.things.existing) == 1
