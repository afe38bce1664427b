"""What stacks export to each other, and that it is not taken from those who use it."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.cloudformation.stack import Stack
from embedded_aws.errors import ServiceError
from tests.pure.embedded_aws.cloud_fakes import REGION, Lab, thing


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Return a lab with a stack that exports the size of a thing, and one that imports it."""
    lab = Lab(monkeypatch)
    exporting(lab)
    importing(lab)
    return lab


def exporting(lab: Lab, stack: str = "exporter", name: str = "shared", size: str = "1") -> Stack:
    output = {"Value": {"Fn::GetAtt": ["A", "Size"]}, "Export": {"Name": name}}
    return lab.deploy(stack, A=thing(Size=size), outputs={"Size": output})


def importing(lab: Lab, name: str = "shared", **others: Any) -> Stack:
    return lab.deploy("importer", B=thing(Needs={"Fn::ImportValue": name}), **others)


def importers(lab: Lab) -> list[tuple[str, str]]:
    return lab.engine.stacks.importers(lab.engine.stacks.find(REGION, "exporter"))


def test_an_export_that_is_in_use_is_neither_renamed_nor_dropped(lab: Lab) -> None:
    message = "Cannot delete export shared as it is in use by importer"
    renamed = exporting(lab, name="other")
    assert (renamed.status, renamed.exports) == ("UPDATE_ROLLBACK_COMPLETE", {"shared": "1"})
    assert [e.reason for e in renamed.events if e.status == "UPDATE_ROLLBACK_IN_PROGRESS"] == [
        message
    ]

    dropped = lab.deploy("exporter", A=thing(Size="1"))
    assert (dropped.status, dropped.exports) == ("UPDATE_ROLLBACK_COMPLETE", {"shared": "1"})


def test_an_export_that_is_in_use_keeps_its_value(lab: Lab) -> None:
    changed = exporting(lab, size="2")

    assert (changed.status, changed.exports) == ("UPDATE_ROLLBACK_COMPLETE", {"shared": "1"})
    assert changed.resources["A"].properties["Size"] == "1"
    assert [e.reason for e in changed.events if e.status == "UPDATE_ROLLBACK_IN_PROGRESS"] == [
        "Cannot update export shared as it is in use by importer"
    ]


def test_an_export_that_nobody_uses_any_more_may_change(lab: Lab) -> None:
    lab.deploy("importer", B=thing(Needs="nothing"))

    assert exporting(lab, size="2").exports == {"shared": "2"}
    assert exporting(lab, name="other").exports == {"other": "1"}


def test_two_stacks_do_not_export_the_same_name(lab: Lab) -> None:
    second = exporting(lab, stack="second")

    assert second.status == "ROLLBACK_COMPLETE"
    assert [e.reason for e in second.events if e.status == "ROLLBACK_IN_PROGRESS"] == [
        "Export with name shared is already exported by stack exporter"
    ]
    lab.delete("importer")
    lab.delete("exporter")
    assert exporting(lab, stack="third").status == "CREATE_COMPLETE"


def test_an_update_that_is_rolled_back_still_uses_what_it_used_before(lab: Lab) -> None:
    stack = lab.deploy("importer", B=thing(Needs="nothing"), C=thing(Size="bad"))

    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert importers(lab) == [("shared", "importer")]
    with pytest.raises(ServiceError, match="shared cannot be deleted as it is in use by importer"):
        lab.delete("exporter")


def test_an_update_that_is_rolled_back_does_not_use_what_it_would_have_used(lab: Lab) -> None:
    lab.deploy("importer", B=thing(Needs="nothing"))
    importing(lab, C=thing(Size="bad"))

    assert importers(lab) == []


def test_an_export_is_in_use_as_soon_as_a_creation_has_read_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.delete("importer")
    seen: list[tuple[str, str]] = []
    monkeypatch.setattr(lab.things, "complete", lambda *_: seen.extend(importers(lab)))
    importing(lab)

    assert seen == [("shared", "importer")]
