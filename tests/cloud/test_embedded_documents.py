"""Session documents, and sessions that begin and end with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_stacks import Stacks, ref, resource


def document(*, update_method: str = "NewVersion", **changes: Any) -> dict[str, Any]:
    content = {
        "schemaVersion": "1.0",
        "sessionType": "Standard_Stream",
        "inputs": {"runAsEnabled": True, "runAsDefaultUser": "ubuntu", **changes},
    }
    return resource(
        "SSM::Document",
        Content=content,
        DocumentType="Session",
        Name="pod-session",
        UpdateMethod=update_method,
        Tags=[{"Key": "a", "Value": str(len(changes))}],
    )


def test_a_document_comes_changes_and_goes(stacks: Stacks, clients: Clients) -> None:
    ssm = clients.service("ssm")
    made = stacks.deploy("document", {"Session": document()}, Name=ref("Session"))
    changed = stacks.deploy("document", {"Session": document(idleSessionTimeout="10")})
    found = ssm.get_document(Name="pod-session")
    described = ssm.describe_document(Name="pod-session")["Document"]
    tags = ssm.list_tags_for_resource(ResourceType="Document", ResourceId="pod-session")["TagList"]

    assert made.status == "CREATE_COMPLETE", made.reasons
    assert made.outputs["Name"] == "pod-session"
    assert made.ids == changed.ids
    assert json.loads(found["Content"])["inputs"]["idleSessionTimeout"] == "10"
    assert (described["DefaultVersion"], described["DocumentType"]) == ("2", "Session")
    assert tags == [{"Key": "a", "Value": "1"}]
    assert stacks.delete("document").status == "DELETE_COMPLETE"
    with pytest.raises(ssm.exceptions.InvalidDocument):
        ssm.get_document(Name="pod-session")


def test_a_document_without_versions_cannot_change_under_its_name(stacks: Stacks) -> None:
    stacks.deploy("replaced", {"Session": document(update_method="Replace")})
    changed = stacks.deploy(
        "replaced", {"Session": document(update_method="Replace", idleSessionTimeout="10")}
    )
    stacks.delete("replaced")

    assert changed.status == "UPDATE_ROLLBACK_COMPLETE"


def test_a_document_with_a_misspelled_input_is_refused(stacks: Stacks) -> None:
    outcome = stacks.deploy("refused", {"Session": document(idleTimeout="10")})
    stacks.delete("refused")

    assert "unknown inputs idleTimeout" in outcome.reasons


def test_no_session_begins_where_no_node_is(clients: Clients) -> None:
    ssm = clients.service("ssm")
    with pytest.raises(ssm.exceptions.TargetNotConnected, match="is not connected"):
        ssm.start_session(Target="sagemaker-cluster:abcde01234yz_login-i-0123456789abcdef0")
