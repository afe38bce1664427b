"""A command starts with what Python compiled before, and ends quickly, yet in good order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import atexit, subprocess, sys, threading
from slurmpod.cli import startup

def work():
    subprocess.run(["cat"], check=True)
    print("worked")

atexit.register(print, "tidied up")
threading.Thread(target=work).start()
print("returned", flush=True)
startup.leave(3)
"""


def test_threads_and_what_is_registered_for_the_end_are_waited_for() -> None:
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin
        assert run.stdout
        assert run.stdout.readline() == "returned\n"
        run.stdin.close()
        assert run.stdout.read() == "worked\ntidied up\n"
    assert run.returncode == 3


def test_what_python_compiles_is_kept_where_state_is_when_it_may_not_lie_beside_the_sources(
    tmp_path: Path,
) -> None:
    package = tmp_path / "sources"
    package.mkdir()
    (package / "compiled_here.py").write_text("import subprocess, sys\n")
    (package / "compiled_by_child.py").write_text("")
    program = """
import subprocess, sys
from slurmpod.cli import startup
startup.keep_compiled()
import compiled_here
subprocess.run([sys.executable, "-c", "import compiled_by_child"], check=True)
"""
    variables = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(package),
        "SLURMPOD_HOME": str(tmp_path / "home"),
    }
    subprocess.run([sys.executable, "-c", program], env=variables, check=True)
    kept = {path.name.partition(".")[0] for path in (tmp_path / "home").rglob("*.pyc")}
    assert kept >= {"compiled_here", "compiled_by_child"}
    assert not (package / "__pycache__").exists()
