"""Grafana's HTTP API at the address of a workspace, and a page that lists its dashboards.

No package registry that this project uses has a real Grafana: data sources and dashboards are
stored as received, by the rules for tokens, versions and overwriting, and nothing is drawn.
Source: Grafana, "HTTP API reference".
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from embedded_aws.errors import ServiceError
from embedded_aws.grafana.workspaces import Workspace, Workspaces

Answer = tuple[int, Any]
_Route = tuple[str, re.Pattern[str], Callable[..., Answer]]

_PLACE = re.compile(r"/(g-[0-9a-f]+)(/[^?]*)?(?:\?.*)?")
_NOT_FOUND: Answer = 404, {"message": "Not found"}


class GrafanaServer:
    """Serves all workspaces at one port of the loopback interface, started at first use."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._server: ThreadingHTTPServer | None = None
        self._lock = threading.Lock()

    def address_of(self, workspace_id: str) -> str:
        """Return the address of a workspace: a host, as in AWS, and here also a path."""
        with self._lock:
            if self._server is None:
                self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._workspaces))
                threading.Thread(target=self._server.serve_forever, daemon=True).start()
            return f"127.0.0.1:{self._server.server_port}/{workspace_id}"

    def close(self) -> None:
        """Stop answering; may be repeated."""
        with self._lock:
            if self._server:
                self._server.shutdown()
                self._server.server_close()
            self._server = None


def answer(workspace: Workspace, method: str, path: str, body: Any, token: str) -> Answer:
    """Return the status and content of the response to a workspace request."""
    if path.startswith("/api/") and not workspace.lets_in(token):
        return 401, {"message": "Invalid API key"}
    for known, pattern, act in _ROUTES:
        match = pattern.fullmatch(path)
        if known == method and match:
            return act(workspace, body, *match.groups())
    return _NOT_FOUND


def _source(workspace: Workspace, _: Any, uid: str) -> Answer:
    return (200, workspace.sources[uid]) if uid in workspace.sources else _NOT_FOUND


def _add_source(workspace: Workspace, body: Any) -> Answer:
    if any(each["name"] == body["name"] for each in workspace.sources.values()):
        return 409, {"message": "data source with the same name already exists"}
    workspace.sources[body["uid"]] = body
    return 200, {"id": len(workspace.sources), "message": "Datasource added"}


def _change_source(workspace: Workspace, body: Any, uid: str) -> Answer:
    if uid not in workspace.sources:
        return _NOT_FOUND
    workspace.sources[uid] = body
    return 200, {"message": "Datasource updated"}


def _dashboard(workspace: Workspace, _: Any, uid: str) -> Answer:
    if uid not in workspace.dashboards:
        return _NOT_FOUND
    return 200, {"dashboard": workspace.dashboards[uid], "meta": {"slug": uid}}


def _save_dashboard(workspace: Workspace, body: Any) -> Answer:
    page = body["dashboard"]
    if not page.get("title"):
        return 400, {"message": "Dashboard title cannot be empty"}
    known = workspace.dashboards.get(page["uid"])
    if known and not body.get("overwrite"):
        return 412, {"status": "version-mismatch"}
    version = known["version"] + 1 if known else 1
    workspace.dashboards[page["uid"]] = {**page, "version": version}
    return 200, {"status": "success", "uid": page["uid"], "version": version}


def _search(workspace: Workspace, _: Any) -> Answer:
    pages = workspace.dashboards.items()
    return 200, [{"type": "dash-db", "uid": uid, "title": page["title"]} for uid, page in pages]


_ROUTES: tuple[_Route, ...] = tuple(
    (method, re.compile(pattern), act)
    for method, pattern, act in (
        ("GET", r"/api/datasources/uid/([\w-]+)", _source),
        ("POST", r"/api/datasources", _add_source),
        ("PUT", r"/api/datasources/uid/([\w-]+)", _change_source),
        ("GET", r"/api/dashboards/uid/([\w-]+)", _dashboard),
        ("POST", r"/api/dashboards/db", _save_dashboard),
        ("GET", r"/api/search", _search),
    )
)


def page_of(workspace: Workspace) -> str:
    """Return a page that lists the contents of a workspace."""
    listed = "".join(
        f"<h2>{escape(page['title'])}</h2><ul>"
        + "".join(f"<li>{escape(str(panel.get('title')))}</li>" for panel in page.get("panels", ()))
        + "</ul>"
        for page in workspace.dashboards.values()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{workspace.id}</title><h1>Workspace {workspace.id}</h1>"
        "<p>This page replaces Grafana: it lists pushed dashboards and draws nothing.</p>"
        f"{listed or '<p>There is no dashboard yet.</p>'}</html>"
    )


def _handler(workspaces: Workspaces) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            place = _PLACE.fullmatch(self.path)
            try:
                workspace = workspaces.find(place[1] if place else "")
            except ServiceError as error:
                self._send(404, "application/json", json.dumps({"message": error.message}))
                return
            path = (place and place[2]) or "/"
            if path == "/" and self.command == "GET":
                self._send(200, "text/html", page_of(workspace))
                return
            token = str(self.headers.get("Authorization")).removeprefix("Bearer ")
            try:
                given = json.loads(body or b"{}")
            except ValueError:
                self._send(400, "application/json", json.dumps({"message": "bad request data"}))
                return
            with workspaces.lock:
                status, said = answer(workspace, self.command, path, given, token)
            self._send(status, "application/json", json.dumps(said))

        do_GET = do_POST = do_PUT = do_DELETE = _respond  # noqa: N815 - http.server's names

        def _send(self, status: int, kind: str, text: str) -> None:
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    return Handler
