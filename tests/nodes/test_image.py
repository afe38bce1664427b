"""Baking of the node image, with a stand-in for mmdebstrap: only the steps around it are tested."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slurmpod.rehearsal.nodes.errors import BakeFailed
from slurmpod.rehearsal.nodes.image import bake, image_path
from slurmpod.rehearsal.state import images
from tests.nodes.conftest import wait_until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 and "CI" not in os.environ, reason="baking needs root"
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMPOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def _mmdebstrap(tmp_path: Path, script: str) -> None:
    """Put a stand-in on PATH; `$root` in the script is the directory to create."""
    _program(tmp_path / "mmdebstrap", f"root=root\n{script}")


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_reports_stages_and_returns_the_root_directory(tmp_path: Path) -> None:
    _mmdebstrap(tmp_path, 'echo "I: unpacking..." >&2; echo noise >&2; touch "$root/bin"')
    stages: list[str] = []
    image = bake(stages.append)
    assert (stages, image) == (["unpacking"], image_path())
    assert [path.name for path in image.iterdir()] == ["bin"]
    assert images().stat().st_mode & 0o077 == 0


def test_what_is_baked_is_not_baked_again(tmp_path: Path) -> None:
    _mmdebstrap(tmp_path, "true")
    bake(print)
    _mmdebstrap(tmp_path, "exit 1")
    assert bake(print).exists()


def test_failure_shows_the_end_of_the_log_and_leaves_no_image(tmp_path: Path) -> None:
    _mmdebstrap(tmp_path, 'echo "E: no such mirror" >&2; exit 1')
    with pytest.raises(BakeFailed, match=r"(?s)cannot bake.*no such mirror"):
        bake(print)
    assert sorted(path.suffix for path in images().iterdir()) == ["", ".log"]


def test_bakes_where_no_overlay_can_be_mounted(tmp_path: Path) -> None:
    _program(tmp_path / "mount", "exit 1")
    _mmdebstrap(tmp_path, 'touch "$root/bin"')
    image = bake(print)
    assert (image / "bin").exists()
    assert "building the image without an overlay" in image.with_suffix(".log").read_text()


def test_what_is_written_waits_for_no_disk(tmp_path: Path) -> None:
    _mmdebstrap(tmp_path, "cp /proc/self/mounts root")
    mounts = (bake(print) / "mounts").read_text().splitlines()
    (options,) = [line.split()[3] for line in mounts if line.split()[1].endswith(".partial/root")]
    assert "volatile" in options


def test_two_at_once_bake_once(tmp_path: Path) -> None:
    _mmdebstrap(tmp_path, f'echo baking >> "{tmp_path}/count"; sleep 0.3')
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: bake(print), range(2))
    assert first == second
    assert (tmp_path / "count").read_text() == "baking\n"


def test_a_killed_bake_ends_and_the_next_one_clears_up(tmp_path: Path) -> None:
    _mmdebstrap(tmp_path, f'touch "$root/half"; touch "{tmp_path}/begun"; exec sleep 987654')
    code = "from slurmpod.rehearsal.nodes.image import bake; bake(print)"
    baker = subprocess.Popen([sys.executable, "-c", code])
    wait_until((tmp_path / "begun").exists, "the beginning of the bake")
    baker.kill()
    baker.wait()
    wait_until(lambda: not _is_running("sleep\x00987654\x00"), "the end of the bake")
    assert any(path.suffix == ".partial" for path in images().iterdir())
    _mmdebstrap(tmp_path, "true")
    assert not (bake(print) / "half").exists()
    assert not any(path.suffix == ".partial" for path in images().iterdir())


def _is_running(command_line: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_text() == command_line:
                return True
        except OSError:
            continue  # it has just ended
    return False
