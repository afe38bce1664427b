"""The packages of a repository -> exact pins with hashes, resolved once by uv.

A lock file of uv has them already; for other files uv chooses wheels for the nodes' platform and
Python. Packages without such a wheel are built there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.venv.lock import Locked, read_lock

LOCK, PROJECT, LIST = "uv.lock", "pyproject.toml", "requirements.txt"
PLATFORMS = {"x86_64": "x86_64-manylinux_2_28", "arm64": "aarch64-manylinux_2_28"}
"""uv's names of the nodes' platforms, by EC2's names of processors. HyperPod's images have
glibc 2.35 (release notes, 2025-05); wheels of PyTorch require 2.28."""

PYTHON = re.compile(r"3\.\d{1,2}(?:\.\d+)?", re.ASCII)
FORM = ("--no-header", "--no-python-downloads", "--format", "pylock.toml")
"""Of the answer; the Python that is there does where a package has to be asked for its needs."""

SHOWN_LINES = 6


def packages_of(
    repository: Path, architecture: str, python: str, index: str
) -> tuple[Path, Locked]:
    """Return the file with a repository's requirements, and the packages to install.

    `repository` is a folder, or the file itself; `python` a version such as 3.10. Raises
    JobRefused, or InvalidEnvironment with all packages that nodes cannot install.
    """
    file = _file_of(repository)
    if not PYTHON.fullmatch(python):
        raise JobRefused(f"'{python}' is not a Python version", "write one such as 3.10")
    platform = PLATFORMS[architecture]
    if file.name == LOCK:
        words = ["export", "--frozen", "--no-dev", "--no-emit-project"]
        text = _resolved((*words, *FORM), file)
    else:
        words = ["pip", "compile", "--python-version", python, "--python-platform", platform]
        words += ["--index-url", index] if index else []
        text = _compiled((*words, *FORM, file.name), file)
    processor = platform.partition("-")[0]
    return file, read_lock(str(file), text, python, processor, _not_alone(file))


def _compiled(words: Sequence[str], file: Path) -> str:
    """Return uv's resolution: versions with wheels if possible, else the newest ones."""
    done = _uv((*words, "--only-binary", ":all:"), file)
    return done.stdout if done.returncode == 0 else _resolved(words, file)


def _resolved(words: Sequence[str], file: Path) -> str:
    done = _uv(words, file)
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[:SHOWN_LINES])
        raise JobRefused(f"uv cannot resolve {file}:\n{said}", "fix the reported problem")
    return done.stdout


def _file_of(repository: Path) -> Path:
    names = (LOCK, PROJECT, LIST)
    found = [repository / name for name in names if (repository / name).is_file()]
    if repository.is_file():
        found = [repository]
    if not found:
        raise JobRefused(
            f"{repository} does not list its packages",
            f"name a file such as {', '.join(names[:-1])} or {names[-1]}, or a folder that has one",
        )
    return found[0]


def _not_alone(file: Path) -> frozenset[str]:
    """Return the packages that uv would build among the others: its setting in the project."""
    project = file.with_name(PROJECT)
    try:
        text = project.read_text(encoding="utf-8") if project.is_file() else ""
        settings = tomllib.loads(text).get("tool", {}).get("uv", {})
        names = settings.get("no-build-isolation-package", ())
        return frozenset(re.sub(r"[-_.]+", "-", each).lower() for each in names)
    except (ValueError, AttributeError, TypeError) as error:
        raise JobRefused(f"{project} cannot be read: {error}", "fix it") from None


def _uv(words: Sequence[str], file: Path) -> subprocess.CompletedProcess[str]:
    beside = Path(sys.executable).with_name("uv")
    uv = shutil.which("uv") or (str(beside) if beside.exists() else None)
    if uv is None:
        raise JobRefused(f"{file} needs uv, which is not installed", "install it: pip install uv")
    return subprocess.run(
        [uv, "--quiet", *words], cwd=file.parent, check=False, capture_output=True, text=True
    )
