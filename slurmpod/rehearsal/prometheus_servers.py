"""Prometheus servers behind workspaces of Amazon Managed Service for Prometheus.

A server stores the samples that nodes send, evaluates the workspace's rules and answers queries at
the paths of AWS's service (its API reference, "Prometheus-compatible APIs"). The program is from
the node image, as is its own web page, which a local user opens without request signing.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from slurmpod.rehearsal.nodes.image import image_command
from slurmpod.rehearsal.prometheus_addresses import ADDRESS_FILE

ADDRESS = re.compile(r"/workspaces/(?P<id>ws-[0-9a-f-]+)/api/v1/(?P<call>[a-z_/-]+)$")
SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=[^,]+/aps/aws4_request")
PASSED_ON = {"CONTENT_TYPE": "Content-Type", "HTTP_CONTENT_ENCODING": "Content-Encoding"}
START_TIMEOUT_SECONDS = 30
PAGES = "usr/share/prometheus/web"
"""The folder of Debian's package with Prometheus's web page."""

EVALUATION_SECONDS = 5

_log = logging.getLogger(__name__)


class PrometheusFailed(Exception):
    """The server of a workspace did not start; the next request tries again on another port."""


class PrometheusServers:
    """The servers of one rehearsal, each started by the first request to its workspace.

    `rules` returns a workspace's rules files by name, or None if there is no such workspace; a
    server reads them when it starts.
    """

    def __init__(
        self, *, image: Path, folder: Path, rules: Callable[[str], Mapping[str, str] | None]
    ) -> None:
        self._image = image
        self._folder = folder
        self._rules = rules
        self._servers: dict[str, _Server] = {}
        self._lock = threading.Lock()

    def answer(
        self, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> list[bytes] | None:
        """Answer a request to a workspace; None for any other request."""
        match = ADDRESS.fullmatch(str(environ.get("PATH_INFO")))
        if match is None:
            return None
        if not SIGNED.match(str(environ.get("HTTP_AUTHORIZATION"))):
            return _say(start_response, "403 Forbidden", "Missing Authentication Token")
        try:
            server = self._server(match["id"])
        except PrometheusFailed as failure:
            return _say(start_response, "503 Service Unavailable", str(failure))
        if server is None:
            return _say(start_response, "404 Not Found", f"Workspace not found: {match['id']}")
        status, kind, body = server.forward(environ, match["call"])
        headers = [("Content-Type", kind), ("Content-Length", str(len(body)))]
        start_response(status, headers)
        return [body]

    def close(self) -> None:
        """End all servers; may be repeated."""
        with self._lock:
            for server in self._servers.values():
                server.close()
            self._servers.clear()

    def _server(self, workspace_id: str) -> _Server | None:
        with self._lock:
            if workspace_id not in self._servers:
                rules = self._rules(workspace_id)
                if rules is None:
                    return None
                folder = self._folder / workspace_id
                self._servers[workspace_id] = _Server(self._image, folder, rules)
            return self._servers[workspace_id]


class _Server:
    """One Prometheus without scrape targets."""

    def __init__(self, image: Path, folder: Path, rules: Mapping[str, str]) -> None:
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        configuration = _write_configuration(folder, rules)
        command = image_command(
            image,
            "prometheus",
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'data'}",
            "--web.enable-remote-write-receiver",
            f"--web.listen-address=127.0.0.1:{self._port}",
            f"--web.local-assets={image / PAGES}",
        )
        log, started = folder / "log", threading.Event()
        runner = threading.Thread(target=self._run, args=(command, log, started), daemon=True)
        runner.start()
        started.wait()
        if not self._becomes_ready():
            self.close()
            raise PrometheusFailed(f"the workspace's Prometheus does not start; see {log}")
        (folder / ADDRESS_FILE).write_text(f"http://127.0.0.1:{self._port}/")

    def forward(self, environ: Mapping[str, Any], call: str) -> tuple[str, str, bytes]:
        """Forward a request, and return the answer's status, content type and body."""
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        path = "/api/v1/" + ("write" if call == "remote_write" else call)
        query = environ.get("QUERY_STRING")
        headers = {name: environ[key] for key, name in PASSED_ON.items() if environ.get(key)}
        answer = self._ask(
            environ["REQUEST_METHOD"], f"{path}?{query}" if query else path, body, headers
        )
        content = answer.read()
        kind = answer.getheader("Content-Type") or "text/plain"
        return f"{answer.status} {answer.reason}", kind, content

    def close(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def _run(self, command: list[str], log: Path, started: threading.Event) -> None:
        """Run the process in a thread that ends it however this process ends."""
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    ["setpriv", "--pdeathsig=KILL", "--", *command],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
        except OSError:
            _log.exception("cannot start a Prometheus")
            return
        finally:
            started.set()
        self._process.wait()

    def _becomes_ready(self) -> bool:
        """Wait until the process answers; return False if it ends or times out first."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while self._process and self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if self._ask("GET", "/-/ready", b"", {}).status == http.client.OK:
                    return True
            time.sleep(0.05)
        return False

    def _ask(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request(method, path, body=body, headers=headers)
        return connection.getresponse()


def _write_configuration(folder: Path, rules: Mapping[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)  # may exist from an earlier attempt
    for name, text in rules.items():
        (folder / f"{name}.rules.yml").write_text(text)
    configuration = {
        "global": {"evaluation_interval": f"{EVALUATION_SECONDS}s"},
        "rule_files": ["*.rules.yml"],
    }
    path = folder / "prometheus.yml"
    path.write_text(json.dumps(configuration))
    return path


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _say(start_response: Callable[..., Any], status: str, message: str) -> list[bytes]:
    body = json.dumps({"message": message}).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response(status, headers)
    return [body]


def rules_of(aws: Clients, workspace_id: str) -> Mapping[str, str] | None:
    """Return the rules files by namespace, or None if there is no such workspace."""
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
