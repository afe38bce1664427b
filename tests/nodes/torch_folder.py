"""A Python with PyTorch in one folder that nodes can mount, at any path.

The node image has another Python, for which there may be no build of PyTorch for CPUs; so the
folder has the Python that runs the tests, and can create virtual environments from it. It is
created once, next to the node images.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from slurmpod.folders import home

REQUIREMENTS = Path(__file__).parents[2] / "requirements-torch.txt"
PACKAGES = "packages"
"""The path of PyTorch: Debian's Python looks for packages elsewhere than others do."""
STARTER = f"""\
#!/bin/sh
folder=$(dirname "$0")
export PYTHONPATH="$folder/{PACKAGES}"
exec "$folder/bin/python3" "$@"
"""
LEFT_OUT = ("site-packages", "dist-packages", "test", "idlelib")
BESIDE = b"$ORIGIN/../lib"
"""The path where the program loader finds libraries: next to the folder of the program."""


def torch_folder() -> Path:
    """Return the folder, whose `python` has PyTorch; creates it if needed, or skips the test."""
    content = REQUIREMENTS.read_bytes() + Path(__file__).read_bytes() + sys.version.encode()
    folder = home() / "torch" / hashlib.sha256(content).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            _copy_python(partial)
            _install(partial)
            subprocess.run(["chmod", "-R", "a+rX", str(partial)], check=True)  # whatever the umask
            partial.rename(folder)
    return folder


def _copy_python(folder: Path) -> None:
    """Copy the interpreter, whose home is the folder in which it finds its library."""
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(
        library, folder / "lib" / library.name, ignore=shutil.ignore_patterns(*LEFT_OUT)
    )
    (folder / "bin").mkdir()
    libraries = sysconfig.get_config_var("LIBDIR")
    program = folder / "bin" / "python3"
    shutil.copy(os.path.realpath(sys.executable), program)
    known = f"{libraries}\0".encode()  # the program searches here for its library
    program.write_bytes(program.read_bytes().replace(known, BESIDE.ljust(len(known), b"\0")))
    for shared in Path(libraries).glob("libpython3*.so*"):
        shutil.copy(shared, folder / "lib")
    starter = folder / "python"
    starter.write_text(STARTER)
    starter.chmod(0o755)


def _install(folder: Path) -> None:
    target = str(folder / PACKAGES)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", target]
    result = subprocess.run(
        [*command, "--requirement", str(REQUIREMENTS)], capture_output=True, text=True
    )
    if result.returncode:
        reason = f"PyTorch cannot be installed: {result.stderr.strip()[-500:]}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
