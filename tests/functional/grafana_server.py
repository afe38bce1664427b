"""A server that behaves like the parts of AWS's and of Grafana's API that a push uses.

A real Grafana is in no package registry that this project uses. What is modelled: service accounts
and their tokens (Amazon Managed Grafana API reference); data sources and dashboards with bearer
tokens, versions and overwriting (Grafana, HTTP API).
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Answer = tuple[int, Any]


class GrafanaServer:
    """Everything that was made there is to be seen in its fields; `url` is both APIs' address."""

    def __init__(self) -> None:
        self.accounts: dict[str, str] = {}
        self.tokens: dict[str, str] = {}
        self.token_lifetimes: list[int] = []
        self.sources: dict[str, Any] = {}
        self.dashboards: dict[str, Any] = {}
        self.refused_dashboard = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: Any, token: str) -> Answer:
        routes: tuple[tuple[str, str, Callable[..., Answer]], ...] = (
            ("GET", r"/workspaces/g-1/serviceaccounts", self._list_accounts),
            ("POST", r"/workspaces/g-1/serviceaccounts", self._make_account),
            ("POST", r"/workspaces/g-1/serviceaccounts/(\d+)/tokens", self._make_token),
            ("DELETE", r"/workspaces/g-1/serviceaccounts/(\d+)", self._delete_account),
            ("GET", r"/api/datasources/uid/([\w-]+)", self._source),
            ("POST", r"/api/datasources", self._make_source),
            ("PUT", r"/api/datasources/uid/([\w-]+)", self._change_source),
            ("POST", r"/api/dashboards/db", self._save_dashboard),
        )
        if path.startswith("/api/") and token not in self.tokens.values():
            return 401, {"message": "Invalid API key"}
        for known, pattern, act in routes:
            match = re.fullmatch(pattern, path.partition("?")[0])
            if known == method and match:
                return act(body, *match.groups())
        return 404, {"message": "Not found"}

    def _list_accounts(self, _: Any) -> Answer:
        listed = [
            {"id": key, "name": name, "grafanaRole": "ADMIN", "isDisabled": "false"}
            for key, name in self.accounts.items()
        ]
        return 200, {"serviceAccounts": listed, "workspaceId": "g-1"}

    def _make_account(self, body: Any) -> Answer:
        if body["name"] in self.accounts.values():
            return 409, {"message": "service account already exists"}
        key = str(len(self.accounts) + 1)
        self.accounts[key] = body["name"]
        return 200, {"id": key, **body, "workspaceId": "g-1"}

    def _make_token(self, body: Any, account: str) -> Answer:
        self.tokens[account] = f"glsa_{secrets.token_hex(16)}"
        self.token_lifetimes.append(body["secondsToLive"])
        token = {"id": "1", "key": self.tokens[account], "name": body["name"]}
        return 200, {
            "serviceAccountId": account,
            "serviceAccountToken": token,
            "workspaceId": "g-1",
        }

    def _delete_account(self, _: Any, account: str) -> Answer:
        del self.accounts[account]
        self.tokens.pop(account, None)
        return 200, {"serviceAccountId": account, "workspaceId": "g-1"}

    def _source(self, _: Any, uid: str) -> Answer:
        return (200, self.sources[uid]) if uid in self.sources else (404, {"message": "not found"})

    def _make_source(self, body: Any) -> Answer:
        if any(each["name"] == body["name"] for each in self.sources.values()):
            return 409, {"message": "data source with the same name already exists"}
        self.sources[body["uid"]] = body
        return 200, {"id": 1, "message": "Datasource added"}

    def _change_source(self, body: Any, uid: str) -> Answer:
        self.sources[uid] = body
        return 200, {"message": "Datasource updated"}

    def _save_dashboard(self, body: Any) -> Answer:
        page = body["dashboard"]
        if not page.get("title"):
            return 400, {"message": "Dashboard title cannot be empty"}
        if page["uid"] == self.refused_dashboard:
            return 500, {"message": "Failed to save dashboard"}
        known = self.dashboards.get(page["uid"])
        if known and not body.get("overwrite"):
            return 412, {"status": "version-mismatch"}
        version = known["version"] + 1 if known else 1
        self.dashboards[page["uid"]] = {**page, "version": version}
        return 200, {"status": "success", "uid": page["uid"], "version": version}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _respond(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length) or b"{}")
                token = str(self.headers.get("Authorization")).removeprefix("Bearer ")
                status, said = server.answer(self.command, self.path, body, token)
                content = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = _respond  # noqa: N815 - http.server's names

            def log_message(self, *_: object) -> None:
                """Write nothing."""

        return Handler
