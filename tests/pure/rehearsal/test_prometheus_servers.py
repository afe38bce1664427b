"""Requests to Prometheus workspaces that need no server, and programs of the node image."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from slurmpod.rehearsal import prometheus_servers
from slurmpod.rehearsal.nodes.image import image_command
from slurmpod.rehearsal.prometheus_servers import PrometheusServers

SIGNED = "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-west-2/aps/aws4_request, Signature=0"
POPEN = subprocess.Popen
WRITE = "/workspaces/ws-0a1b/api/v1/remote_write"


def ask(folder: Path, path: str, authorization: str = SIGNED) -> tuple[str, Any] | None:
    """Return status and answer of a rehearsal that has no workspaces; None if it passes it on."""
    statuses: list[str] = []
    servers = PrometheusServers(image=folder, folder=folder, rules=lambda _: None)
    body = servers.answer(
        {"PATH_INFO": path, "HTTP_AUTHORIZATION": authorization},
        lambda status, _headers: statuses.append(status),
    )
    return None if body is None else (statuses[0], json.loads(body[0]))


@pytest.mark.parametrize("path", ["/", "/workspaces/ws-0a1b", "/workspaces/ws-0a1b/logging"])
def test_what_is_no_metric_is_passed_on(tmp_path: Path, path: str) -> None:
    assert ask(tmp_path, path) is None


@pytest.mark.parametrize("authorization", ["", "Bearer x", SIGNED.replace("/aps/", "/s3/")])
def test_who_does_not_sign_for_the_service_is_refused(tmp_path: Path, authorization: str) -> None:
    status, _ = ask(tmp_path, WRITE, authorization) or ("", None)
    assert status == "403 Forbidden"


def test_an_unknown_workspace_takes_nothing(tmp_path: Path) -> None:
    status, said = ask(tmp_path, WRITE) or ("", {})
    assert status == "404 Not Found"
    assert "ws-0a1b" in said["message"]


PROGRAM = """#!/bin/sh
# stands for the loader of an image, and for the Prometheus that it runs
if [ ! -e {folder}/tried ]; then touch {folder}/tried; {first_try}; fi
for word; do case $word in --web.listen-address=*) port=${{word##*:}}; esac; done
exec {python} -m http.server --bind 127.0.0.1 --directory {folder}/answers $port
"""
QUERY = "/workspaces/ws-0a1b/api/v1/query"


@contextmanager
def workspace(folder: Path, first_try: str) -> Iterator[Callable[[], str]]:
    """Yield what asks a workspace whose Prometheus does something else on its first try."""
    for path in ("usr/bin/prometheus", "answers/-/ready", "answers/api/v1/query"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    loader = folder / "usr/lib64/ld-linux-x86-64.so.2"
    loader.parent.mkdir()
    loader.write_text(PROGRAM.format(folder=folder, first_try=first_try, python=sys.executable))
    loader.chmod(0o755)
    servers = PrometheusServers(image=folder, folder=folder / "servers", rules=lambda _: {})
    asked = {
        "PATH_INFO": QUERY,
        "HTTP_AUTHORIZATION": SIGNED,
        "REQUEST_METHOD": "GET",
        "wsgi.input": BytesIO(),
    }

    def status() -> str:
        statuses: list[str] = []
        servers.answer(asked, lambda status, _headers: statuses.append(status))
        return statuses[0]

    with closing(servers):
        yield status


def test_a_server_that_ends_at_once_is_tried_again_by_the_next_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus_servers, "START_TIMEOUT_SECONDS", float("inf"))
    with workspace(tmp_path, "exit 1") as status:
        assert [status(), status()] == ["503 Service Unavailable", "200 OK"]


def test_a_server_that_is_not_ready_in_time_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(POPEN(*command, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(prometheus_servers, "START_TIMEOUT_SECONDS", 0)
    with workspace(tmp_path, "exec sleep 1000") as status:
        assert status() == "503 Service Unavailable"
        assert [each.poll() for each in started] == [-signal.SIGKILL]


def test_a_server_that_cannot_be_started_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with workspace(tmp_path, "exit 1") as status:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert status() == "503 Service Unavailable"


def test_a_program_of_the_image_runs_with_its_own_libraries(tmp_path: Path) -> None:
    for path in (
        "usr/bin/promtool",
        "usr/lib64/ld-linux-x86-64.so.2",
        "usr/lib/x86_64-linux-gnu/l",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    loader, *rest = image_command(tmp_path, "promtool", "--version")
    assert loader == f"{tmp_path}/usr/lib64/ld-linux-x86-64.so.2"
    libraries = f"{tmp_path}/usr/lib/x86_64-linux-gnu"
    assert rest == ["--library-path", libraries, f"{tmp_path}/usr/bin/promtool", "--version"]


def test_an_image_without_the_program_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no promtool"):
        image_command(tmp_path, "promtool")
