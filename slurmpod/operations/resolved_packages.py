"""What a repository says of its packages -> exact pins with hashes, which uv resolves once.

A lock file of uv says it already; of other files uv takes what the nodes can install: wheels for
their platform and their Python, for pip builds nothing there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from slurmpod.jobs.allocation import JobRefused

LOCK, PROJECT, LIST = "uv.lock", "pyproject.toml", "requirements.txt"
PLATFORMS = {"x86_64": "x86_64-manylinux_2_28", "arm64": "aarch64-manylinux_2_28"}
"""What uv calls the platform of nodes, by what EC2 calls their processors. HyperPod's images have
glibc 2.35 (release notes, 2025-05); wheels of PyTorch ask for 2.28."""

SHOWN_LINES = 6
BUILD_IT = (
    "what has no wheel for the nodes has to be built, put beside other wheels and given with"
    " --wheels"
)


def packages_of(repository: Path, architecture: str, python: str, index: str) -> tuple[str, str]:
    """Return which file says what a repository needs, and the pins of all of it.

    `repository` is a folder, or the file itself; `python` a version such as 3.10. Raises
    JobRefused.
    """
    file = _file_of(repository)
    if file.name == LOCK:
        words = ["export", "--frozen", "--no-dev", "--no-emit-project", "--no-header"]
        words += ["--no-annotate", "--format", "requirements.txt"]
        return str(file), _with_wheels(_uv(words, file), file)
    words = ["pip", "compile", "--generate-hashes", "--no-header", "--no-annotate"]
    words += ["--only-binary", ":all:", "--python-version", python]
    words += ["--python-platform", PLATFORMS[architecture], file.name]
    words += ["--index-url", index] if index else []
    return str(file), _uv(words, file)


def _file_of(repository: Path) -> Path:
    names = (LOCK, PROJECT, LIST)
    found = [repository / name for name in names if (repository / name).is_file()]
    if repository.is_file():
        found = [repository]
    if not found:
        raise JobRefused(
            f"{repository} says nowhere what packages it needs",
            f"name a file such as {', '.join(names[:-1])} or {names[-1]}, or a folder that has one",
        )
    return found[0]


def _with_wheels(pins: str, file: Path) -> str:
    """Return the pins of a lock; raises JobRefused for packages of which it has no wheel.

    `uv export` asks for none: the job would fail on its node.
    """
    locked = tomllib.loads(file.read_text(encoding="utf-8")).get("package", ())
    sources = {f"{each['name']}=={each['version']}" for each in locked if "sdist" in each}
    wheels = {f"{each['name']}=={each['version']}" for each in locked if "wheels" in each}
    pinned = {line.split()[0] for line in pins.splitlines() if "==" in line}
    if lacking := sorted(pinned & (sources - wheels)):
        raise JobRefused(f"{file} has no wheel of {', '.join(lacking)}", BUILD_IT)
    return pins


def _uv(words: Sequence[str], file: Path) -> str:
    beside = Path(sys.executable).with_name("uv")
    uv = shutil.which("uv") or (str(beside) if beside.exists() else None)
    if uv is None:
        raise JobRefused(
            f"{file} is resolved by uv, which is not there", "install it: pip install uv"
        )
    done = subprocess.run(
        [uv, "--quiet", *words], cwd=file.parent, check=False, capture_output=True, text=True
    )
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[:SHOWN_LINES])
        raise JobRefused(
            f"uv cannot resolve {file}:\n{said}",
            f"mend what it names; {BUILD_IT}",
        )
    return done.stdout
