"""Workspaces of Grafana: their accounts, tokens and contents."""

from __future__ import annotations

import secrets
import string
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from embedded_aws.errors import ServiceError
from embedded_aws.ids import ids

_HEX = string.digits + "abcdef"


@dataclass
class Account:
    """A service account with its tokens by id."""

    id: str
    name: str
    role: str
    tokens: dict[str, Token] = field(default_factory=dict)


@dataclass(frozen=True)
class Token:
    """A token with its expiry in seconds since the epoch; its key is shown only once."""

    id: str
    name: str
    key: str
    created: float
    expires: float


@dataclass
class Workspace:
    """One workspace: its request, accounts, data sources and dashboards by uid."""

    id: str
    given: dict[str, Any]
    created: float
    accounts: dict[str, Account] = field(default_factory=dict)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    dashboards: dict[str, dict[str, Any]] = field(default_factory=dict)

    def lets_in(self, key: str) -> bool:
        """Return whether a token with this key is valid now."""
        tokens = (token for account in self.accounts.values() for token in account.tokens.values())
        return any(
            secrets.compare_digest(token.key, key) and token.expires > time.time()
            for token in tokens
        )


class Workspaces:
    """All workspaces of an account; hold `lock` to change one."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._by_id: dict[str, Workspace] = {}

    def create(self, given: Mapping[str, Any]) -> Workspace:
        """Make a workspace."""
        workspace = Workspace(f"g-{ids.text('grafana', 10, _HEX)}", dict(given), time.time())
        self._by_id[workspace.id] = workspace
        return workspace

    def find(self, workspace_id: str) -> Workspace:
        """Return a workspace; raises ServiceError if it does not exist."""
        if workspace_id not in self._by_id:
            raise ServiceError("ResourceNotFoundException", f"Workspace {workspace_id} not found")
        return self._by_id[workspace_id]

    def delete(self, workspace_id: str) -> Workspace:
        """Delete a workspace with its contents; raises ServiceError."""
        workspace = self.find(workspace_id)
        del self._by_id[workspace_id]
        return workspace

    def all(self) -> tuple[Workspace, ...]:
        """Return all workspaces, oldest first."""
        return tuple(self._by_id.values())
