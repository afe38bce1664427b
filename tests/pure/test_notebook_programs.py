"""The programs on a notebook instance: it stops when idle, and mounts what it is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from slurmpod.bundle.templates import render
from slurmpod.folders import folder

PROGRAM = folder("templates") / "notebook" / "stop_when_idle.py"
STOP = "sagemaker stop-notebook-instance --region us-west-2 --notebook-instance-name dev"


def minutes_ago(minutes: float) -> str:
    moment = datetime.fromtimestamp(time.time() - minutes * 60, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def session(minutes: float, state: str = "idle") -> dict[str, Any]:
    return {"kernel": {"execution_state": state, "last_activity": minutes_ago(minutes)}}


@contextmanager
def jupyter(**answers: Any) -> Iterator[str]:
    """Serve what Jupyter answers on this machine, and say where."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers.get(self.path.removeprefix("/api/"))
            self.send_response(404 if answer is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def recording(folder: Path, *names: str, code: int = 0) -> dict[str, str]:
    """Put programs into a folder that note how they were called; return an environment."""
    for name in names:
        file = folder / name
        file.write_text(f'#!/bin/sh\necho "$(basename "$0") $*" >> "{folder}/calls"\nexit {code}\n')
        file.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def calls(folder: Path) -> list[str]:
    file = folder / "calls"
    return file.read_text().splitlines() if file.exists() else []


def look(tmp_path: Path, where: str, started: float = 0.0) -> tuple[int, list[str]]:
    """Run the program once with a limit of 60 minutes."""
    wanted = ["--minutes", "60", "--name", "dev", "--region", "us-west-2", "--jupyter", where]
    result = subprocess.run(
        [sys.executable, str(PROGRAM), *wanted, "--started", str(started or 1.0)],
        env=recording(tmp_path, "aws"),
        capture_output=True,
        check=False,
    )
    return result.returncode, calls(tmp_path)


@pytest.mark.parametrize(
    ("answers", "stops"),
    [
        ({"sessions": [], "terminals": []}, True),
        ({"sessions": [session(300)], "terminals": []}, True),
        ({"sessions": [session(300), session(5)], "terminals": []}, False),
        ({"sessions": [session(300, "busy")], "terminals": []}, False),
        ({"sessions": [session(300)], "terminals": [{"last_activity": minutes_ago(5)}]}, False),
        ({"sessions": [session(300)]}, True),
    ],
    ids=["nothing", "idle kernel", "used kernel", "computes", "used terminal", "no terminals"],
)
def test_it_stops_once_nobody_uses_it(
    tmp_path: Path, answers: dict[str, Any], *, stops: bool
) -> None:
    with jupyter(**answers) as where:
        assert look(tmp_path, where) == (0, [f"aws {STOP}"] if stops else [])


def test_it_does_not_stop_soon_after_its_start(tmp_path: Path) -> None:
    with jupyter(sessions=[], terminals=[]) as where:
        assert look(tmp_path, where, time.time() - 600) == (0, [])


def test_it_goes_on_where_jupyter_does_not_answer(tmp_path: Path) -> None:
    assert look(tmp_path, "http://127.0.0.1:1") == (1, [])


def mounts(tmp_path: Path, *folders: Path, mounted: int) -> tuple[int, list[str]]:
    """Run what mounts, with programs that only note their calls."""
    values = {
        "idle_minutes": 60,
        "name": "dev",
        "region": "us-west-2",
        "clients": ["lustre-client"],
        "mounts": [
            {"type": "lustre", "options": "ro", "source": "fs-1@tcp:/x y", "folder": str(each)}
            for each in folders
        ],
    }
    _, _, rest = render("notebook/on_start.sh", values).partition("<<'MOUNTS'\n")
    program = tmp_path / "mount.sh"
    program.write_text(rest.partition("\nMOUNTS\n")[0])
    (tmp_path / "SageMaker").mkdir(exist_ok=True)
    recording(tmp_path, "mountpoint", "rpm", code=1)
    environment = recording(tmp_path, "dnf")
    recording(tmp_path, "mount", code=mounted)
    environment["SLURMPOD_NOTEBOOKS"] = str(tmp_path / "SageMaker")
    result = subprocess.run(["bash", str(program)], env=environment, check=False)
    return result.returncode, calls(tmp_path)


def test_file_systems_are_mounted_and_shown_in_jupyterlab(tmp_path: Path) -> None:
    place = tmp_path / "fsx"
    code, called = mounts(tmp_path, place, mounted=0)
    assert code == 0
    assert "dnf install -y lustre-client" in called
    assert f"mount -t lustre -o ro fs-1@tcp:/x y {place}" in called
    (link,) = (tmp_path / "SageMaker").iterdir()
    assert link.readlink() == place


def test_a_file_of_the_user_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "fsx"
    mounts(tmp_path, place, mounted=0)
    (link,) = (tmp_path / "SageMaker").iterdir()
    link.unlink()
    link.write_text("mine")
    assert mounts(tmp_path, place, mounted=0)[0] == 0
    assert link.read_text() == "mine"


def test_one_that_is_not_mounted_stops_no_other(tmp_path: Path) -> None:
    code, called = mounts(tmp_path, tmp_path / "a", tmp_path / "b", mounted=1)
    assert code == 1
    assert len([each for each in called if each.startswith("mount -t")]) == 2
    assert not list((tmp_path / "SageMaker").iterdir())
