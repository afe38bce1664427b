"""The API of Amazon Managed Grafana for workspaces and service accounts.

Source: API reference.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from embedded_aws.errors import ServiceError
from embedded_aws.grafana.workspaces import Account, Token, Workspace, Workspaces
from embedded_aws.wire import Operation

Shape = dict[str, Any]

_DESCRIBED = {
    "accountAccessType": "accountAccessType",
    "description": "workspaceDescription",
    "grafanaVersion": "grafanaVersion",
    "name": "workspaceName",
    "permissionType": "permissionType",
    "workspaceRoleArn": "workspaceRoleArn",
}
"""Members of a workspace's description, with their names in requests."""

_NEWEST = "10.4"
"""The default version of a workspace (user guide, "Version support")."""


class GrafanaApi:
    """The operations; `address_of` returns the address of a workspace."""

    name: Final = "grafana"
    refusal: Final = "ValidationException"

    def __init__(self, workspaces: Workspaces, address_of: Callable[[str], str]) -> None:
        self._workspaces = workspaces
        self._address_of = address_of
        self.operations: Mapping[str, Operation] = {
            "CreateWorkspace": self._create,
            "CreateWorkspaceServiceAccount": self._create_account,
            "CreateWorkspaceServiceAccountToken": self._create_token,
            "DeleteWorkspace": self._delete,
            "DeleteWorkspaceServiceAccount": self._delete_account,
            "DescribeWorkspace": self._describe,
            "ListWorkspaceServiceAccounts": self._list_accounts,
            "ListWorkspaceServiceAccountTokens": self._list_tokens,
            "ListWorkspaces": self._list,
            "UpdateWorkspace": self._update,
            "UpdateWorkspaceConfiguration": self._update_configuration,
        }

    def _create(self, _: str, given: Mapping[str, Any]) -> Shape:
        with self._workspaces.lock:
            return {"workspace": self._shape(self._workspaces.create(given))}

    def _describe(self, _: str, given: Mapping[str, Any]) -> Shape:
        return {"workspace": self._shape(self._workspaces.find(given["workspaceId"]))}

    def _list(self, _: str, given: Mapping[str, Any]) -> Shape:
        return {"workspaces": [self._shape(each) for each in self._workspaces.all()]}

    def _update(self, _: str, given: Mapping[str, Any]) -> Shape:
        with self._workspaces.lock:
            workspace = self._workspaces.find(given["workspaceId"])
            workspace.given.update(given)
            return {"workspace": self._shape(workspace)}

    def _update_configuration(self, _: str, given: Mapping[str, Any]) -> Shape:
        with self._workspaces.lock:
            workspace = self._workspaces.find(given["workspaceId"])
            if "grafanaVersion" in given:
                workspace.given["grafanaVersion"] = given["grafanaVersion"]
        return {}

    def _delete(self, _: str, given: Mapping[str, Any]) -> Shape:
        with self._workspaces.lock:
            return {"workspace": self._shape(self._workspaces.delete(given["workspaceId"]))}

    def _list_accounts(self, _: str, given: Mapping[str, Any]) -> Shape:
        workspace = self._workspaces.find(given["workspaceId"])
        accounts = [
            {"id": each.id, "name": each.name, "grafanaRole": each.role, "isDisabled": "false"}
            for each in workspace.accounts.values()
        ]
        return {"serviceAccounts": accounts, "workspaceId": workspace.id}

    def _create_account(self, _: str, given: Mapping[str, Any]) -> Shape:
        with self._workspaces.lock:
            workspace = self._workspaces.find(given["workspaceId"])
            if any(each.name == given["name"] for each in workspace.accounts.values()):
                raise ServiceError("ConflictException", "service account already exists")
            number = str(max(map(int, workspace.accounts), default=0) + 1)
            account = Account(number, given["name"], given["grafanaRole"])
            workspace.accounts[number] = account
        return {
            "id": account.id,
            "name": account.name,
            "grafanaRole": account.role,
            "workspaceId": workspace.id,
        }

    def _delete_account(self, _: str, given: Mapping[str, Any]) -> Shape:
        with self._workspaces.lock:
            workspace, account = self._account(given)
            del workspace.accounts[account.id]
        return {"serviceAccountId": account.id, "workspaceId": workspace.id}

    def _create_token(self, _: str, given: Mapping[str, Any]) -> Shape:
        now = time.time()
        with self._workspaces.lock:
            workspace, account = self._account(given)
            token = Token(
                id=str(len(account.tokens) + 1),
                name=given["name"],
                key=f"glsa_{secrets.token_hex(16)}",
                created=now,
                expires=now + given["secondsToLive"],
            )
            account.tokens[token.id] = token
        return {
            "serviceAccountId": account.id,
            "serviceAccountToken": {"id": token.id, "key": token.key, "name": token.name},
            "workspaceId": workspace.id,
        }

    def _list_tokens(self, _: str, given: Mapping[str, Any]) -> Shape:
        workspace, account = self._account(given)
        tokens = [
            {
                "id": each.id,
                "name": each.name,
                "createdAt": each.created,
                "expiresAt": each.expires,
            }
            for each in account.tokens.values()
        ]
        return {
            "serviceAccountId": account.id,
            "serviceAccountTokens": tokens,
            "workspaceId": workspace.id,
        }

    def _account(self, given: Mapping[str, Any]) -> tuple[Workspace, Account]:
        workspace = self._workspaces.find(given["workspaceId"])
        account = workspace.accounts.get(given["serviceAccountId"])
        if account is None:
            number = given["serviceAccountId"]
            raise ServiceError("ResourceNotFoundException", f"Service account {number} not found")
        return workspace, account

    def _shape(self, workspace: Workspace) -> Shape:
        given = workspace.given
        described = {name: given[key] for name, key in _DESCRIBED.items() if key in given}
        providers = {"providers": given.get("authenticationProviders", [])}
        return {
            "grafanaVersion": _NEWEST,
            **described,
            "authentication": providers,
            "created": workspace.created,
            "dataSources": given.get("workspaceDataSources", []),
            "endpoint": self._address_of(workspace.id),
            "id": workspace.id,
            "modified": workspace.created,
            "status": "ACTIVE",
        }
