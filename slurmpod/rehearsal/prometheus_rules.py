"""The rules files that a Prometheus workspace of the embedded AWS has been given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.clients import Clients


def rules_of(aws: Clients, workspace_id: str) -> Mapping[str, str] | None:
    """Return the files by their namespaces, None if there is no such workspace."""
    amp = aws.service("amp")
    try:
        amp.describe_workspace(workspaceId=workspace_id)
    except ClientError:
        return None
    found: dict[str, str] = {}
    for each in amp.list_rule_groups_namespaces(workspaceId=workspace_id)["ruleGroupsNamespaces"]:
        described = amp.describe_rule_groups_namespace(workspaceId=workspace_id, name=each["name"])
        found[each["name"]] = described["ruleGroupsNamespace"]["data"].decode()
    return found
