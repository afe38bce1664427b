"""Requests to Prometheus workspaces that need no server, and programs of the node image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurmpod.rehearsal.nodes.image import image_command
from slurmpod.rehearsal.prometheus_servers import PrometheusServers

SIGNED = "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-west-2/aps/aws4_request, Signature=0"
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
