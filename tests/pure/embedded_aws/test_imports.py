"""What outlives a stack and how it comes into another one, as CloudFormation documents it."""

from __future__ import annotations

import pytest

from embedded_aws.cloudformation.stack import DeletionRequest
from embedded_aws.errors import ServiceError
from tests.pure.embedded_aws.cloud_fakes import REGION, THING, Lab, statuses, thing


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(monkeypatch)


@pytest.fixture
def left(lab: Lab) -> str:
    """Deploy a stack, delete it, and return the id of what it left."""
    lab.deploy("old", A=thing(keep="RetainExceptOnCreate", Size="7"))
    lab.delete("old")
    (physical_id,) = lab.things.existing
    return physical_id


class TestImport:
    def test_what_is_there_enters_a_new_stack_unchanged(self, lab: Lab, left: str) -> None:
        lab.things.calls.clear()
        stack = lab.take_in(imports={"A": left}, A=thing(keep="Retain", Size="7"))

        assert stack.status == "IMPORT_COMPLETE"
        assert stack.resources["A"].physical_id == left
        assert stack.resources["A"].attributes == {"Size": "7"}
        assert statuses(stack, "A") == ["IMPORT_IN_PROGRESS", "IMPORT_COMPLETE"]
        assert lab.things.calls == []

    def test_the_next_update_adds_the_rest(self, lab: Lab, left: str) -> None:
        lab.take_in(imports={"A": left}, A=thing(keep="Retain"))
        stack = lab.deploy(
            A=thing(keep="Retain"),
            B=thing(Needs={"Ref": "A"}),
            outputs={"A": {"Value": {"Ref": "A"}}},
        )

        assert stack.status == "UPDATE_COMPLETE"
        assert stack.outputs == {"A": left}
        assert lab.things.calls[-1] == "create B"

    def test_a_live_stack_takes_something_in_beside_what_it_has(self, lab: Lab, left: str) -> None:
        lab.deploy(B=thing(Size="1"))
        stack = lab.take_in(imports={"A": left}, A=thing(keep="Retain"), B=thing(Size="1"))

        assert stack.status == "IMPORT_COMPLETE"
        assert sorted(stack.resources) == ["A", "B"]

    def test_a_change_set_tells_the_import(self, lab: Lab, left: str) -> None:
        (change,) = lab.change_set(imports={"A": left}, A=thing(keep="Retain")).changes
        assert (change.action, change.physical_id) == ("Import", left)

    def test_what_is_not_there_leaves_everything_as_it_was(self, lab: Lab, left: str) -> None:
        stack = lab.take_in(
            imports={"A": left, "B": "thing-99"}, A=thing(keep="Retain"), B=thing(keep="Retain")
        )

        assert stack.status == "IMPORT_ROLLBACK_COMPLETE"
        assert stack.resources == {}
        assert list(lab.things.existing) == [left]
        (failed,) = [event for event in stack.events if event.status == "IMPORT_FAILED"]
        assert "'thing-99' was not found" in failed.reason
        assert lab.take_in(imports={"A": left}, A=thing(keep="Retain")).status == "IMPORT_COMPLETE"


class TestRefusals:
    def test_without_a_deletion_policy(self, lab: Lab, left: str) -> None:
        with pytest.raises(ServiceError, match=r"import \[A\] must have DeletionPolicy attribute"):
            lab.change_set(imports={"A": left}, A={"Type": THING})
        assert lab.engine.stacks.active(REGION) == []

    def test_with_new_or_changed_resources(self, lab: Lab, left: str) -> None:
        lab.deploy(B=thing(Size="1"))
        with pytest.raises(
            ServiceError, match=r"modified resources \[B, C\] .* not being imported"
        ):
            lab.change_set(
                imports={"A": left}, A=thing(keep="Retain"), B=thing(Size="2"), C=thing()
            )

    def test_with_outputs(self, lab: Lab, left: str) -> None:
        outputs = {"Id": {"Value": {"Ref": "A"}}}
        with pytest.raises(ServiceError, match=r"cannot modify or add \[Outputs\]"):
            lab.change_set(imports={"A": left}, outputs=outputs, A=thing(keep="Retain"))

    def test_of_what_another_stack_has(self, lab: Lab) -> None:
        owned = lab.deploy("owner", A=thing()).resources["A"].physical_id
        with pytest.raises(ServiceError, match=r"thing-1 already exists in stack .*:stack/owner/"):
            lab.change_set(imports={"A": owned}, A=thing(keep="Retain"))

    def test_of_a_type_that_has_no_import(
        self, lab: Lab, left: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("embedded_aws.resources.schemas.import_identifiers", lambda _type: ())
        with pytest.raises(ServiceError, match=rf"\[{THING}\] are not supported for Import"):
            lab.change_set(imports={"A": left}, A=thing(keep="Retain"))


class TestImportOfExistingNames:
    def test_a_creation_takes_in_what_has_the_name(self, lab: Lab, left: str) -> None:
        change_set = lab.change_set(
            imports_existing=True, A=thing(keep="Retain", Name=left), B=thing(Needs={"Ref": "A"})
        )
        lab.engine.execute_change_set(REGION, "s", "c").join()
        stack = lab.engine.stacks.find(REGION, "s")

        assert [change.action for change in change_set.changes] == ["Import", "Add"]
        assert stack.status == "CREATE_COMPLETE"
        assert stack.resources["A"].physical_id == left

    def test_only_what_is_retained_and_nobodys(self, lab: Lab, left: str) -> None:
        lab.take_in("owner", imports={"A": left}, A=thing(keep="Retain"))
        owned = lab.change_set(imports_existing=True, A=thing(keep="Retain", Name=left))
        lab.delete("owner")
        deletable = lab.change_set("other", imports_existing=True, A=thing(Name=left))

        assert [change.action for change in owned.changes] == ["Add"]
        assert [change.action for change in deletable.changes] == ["Add"]

    def test_a_failed_creation_lets_go_of_it(self, lab: Lab, left: str) -> None:
        lab.change_set(
            imports_existing=True,
            A=thing(keep="RetainExceptOnCreate", Name=left),
            B=thing(Needs={"Ref": "A"}, Size="impossible"),
        )
        lab.engine.execute_change_set(REGION, "s", "c").join()

        assert lab.engine.stacks.find(REGION, "s").status == "ROLLBACK_COMPLETE"
        assert list(lab.things.existing) == [left]


class TestDeletion:
    def test_a_deleted_stack_remembers_what_it_let_go(self, lab: Lab) -> None:
        stack = lab.deploy(A=thing(keep="Retain"), B=thing())
        lab.delete()

        assert {name: each.status for name, each in stack.former.items()} == {
            "A": "DELETE_SKIPPED",
            "B": "DELETE_COMPLETE",
        }

    def test_what_cannot_be_deleted_keeps_only_what_it_needs(self, lab: Lab) -> None:
        stack = lab.deploy(
            Base=thing(), Stuck=thing(Needs={"Ref": "Base"}), Free=thing(), Other=thing()
        )
        lab.things.undeletable |= {"Stuck", "Other"}
        lab.delete()

        assert stack.status == "DELETE_FAILED"
        assert stack.reason.strip().endswith("failed to delete: [Other, Stuck].")
        assert sorted(stack.resources) == ["Base", "Other", "Stuck"]

    def test_the_stuck_can_be_left_where_it_is(self, lab: Lab) -> None:
        stack = lab.deploy(Base=thing(), Stuck=thing(Needs={"Ref": "Base"}))
        lab.things.undeletable.add("Stuck")
        lab.delete()
        lab.delete(request=DeletionRequest(retained=frozenset({"Stuck"})))

        assert stack.status == "DELETE_COMPLETE"
        assert statuses(stack, "Stuck")[-1] == "DELETE_SKIPPED"
        assert statuses(stack, "Base")[-1] == "DELETE_COMPLETE"

    def test_force_leaves_whatever_cannot_be_deleted(self, lab: Lab) -> None:
        stack = lab.deploy(Base=thing(), Stuck=thing(Needs={"Ref": "Base"}), Free=thing())
        lab.things.undeletable |= {"Stuck", "Base"}
        lab.delete()
        lab.delete(request=DeletionRequest(is_forced=True))

        assert stack.status == "DELETE_COMPLETE"
        assert len(lab.things.existing) == 2

    @pytest.mark.parametrize(
        "request_", [DeletionRequest(is_forced=True), DeletionRequest(frozenset({"A"}))]
    )
    def test_nothing_is_left_behind_before_a_deletion_failed(
        self, lab: Lab, request_: DeletionRequest
    ) -> None:
        lab.deploy(A=thing())
        with pytest.raises(ServiceError, match="only if the stack is in the DELETE_FAILED state"):
            lab.delete(request=request_)

    def test_a_failed_creation_deletes_what_it_can(self, lab: Lab) -> None:
        lab.things.undeletable.add("A")
        stack = lab.deploy(A=thing(), B=thing(), C=thing(Size="bad", Needs={"Ref": "B"}))

        assert stack.status == "ROLLBACK_FAILED"
        assert list(stack.resources) == ["A"]
