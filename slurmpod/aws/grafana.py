"""Short-lived access to an Amazon Managed Grafana workspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable

ACCOUNT_NAME = "slurmpod-push"
TOKEN_SECONDS = 600


@dataclass(frozen=True)
class GrafanaAccess:
    """Service accounts in the workspaces of one account and Region."""

    clients: AwsClients

    @contextmanager
    def token(self, workspace_id: str) -> Iterator[str]:
        """Yield an administrator token for a workspace; then delete it and its service account.

        First deletes the service account of an interrupted push. Raises AwsUnavailable.
        """
        with as_unavailable(f"make a service account in the Grafana workspace {workspace_id}"):
            self._remove_left_over(workspace_id)
            account = self.clients.grafana.create_workspace_service_account(
                workspaceId=workspace_id, name=ACCOUNT_NAME, grafanaRole="ADMIN"
            )["id"]
        try:
            with as_unavailable(f"make a token for the Grafana workspace {workspace_id}"):
                answer = self.clients.grafana.create_workspace_service_account_token(
                    workspaceId=workspace_id,
                    serviceAccountId=account,
                    name=ACCOUNT_NAME,
                    secondsToLive=TOKEN_SECONDS,
                )
            yield str(answer["serviceAccountToken"]["key"])
        finally:
            with as_unavailable(f"remove the service account {ACCOUNT_NAME} again"):
                self._delete(workspace_id, account)

    def _remove_left_over(self, workspace_id: str) -> None:
        pages = self.clients.grafana.get_paginator("list_workspace_service_accounts")
        for page in pages.paginate(workspaceId=workspace_id):
            for account in page["serviceAccounts"]:
                if account["name"] == ACCOUNT_NAME:
                    self._delete(workspace_id, account["id"])

    def _delete(self, workspace_id: str, account: str) -> None:
        self.clients.grafana.delete_workspace_service_account(
            workspaceId=workspace_id, serviceAccountId=account
        )
