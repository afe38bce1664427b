"""Sources of a package with one module, which are built without any other package."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from tests.pure.jobs import tiny_wheel
from tests.pure.jobs.tiny_wheel import VERSION

PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "NAME"
version = "VERSION"
"""
BACKEND = """\
def build_wheel(folder, config_settings=None, metadata_directory=None):
    return tiny_wheel(Path(folder), "NAME").name
"""
ABOUT = f"Metadata-Version: 2.2\nName: NAME\nVersion: {VERSION}\n"


def source_files(name: str) -> dict[str, str]:
    """Return the files of the package by name."""
    program = Path(tiny_wheel.__file__).read_text(encoding="utf-8")
    return {
        "pyproject.toml": PROJECT.replace("NAME", name).replace("VERSION", VERSION),
        "backend.py": f"{program}\n\n{BACKEND.replace('NAME', name)}",
    }


def tiny_folder(folder: Path, name: str = "tiny") -> Path:
    """Write the source into a folder of its name."""
    (folder / name).mkdir(parents=True)
    for file, text in source_files(name).items():
        (folder / name / file).write_text(text)
    return folder / name


def tiny_sdist(folder: Path, name: str = "tiny") -> Path:
    """Put the source into `folder`, as indexes have it."""
    archive = folder / f"{name}-{VERSION}.tar.gz"
    texts = {"PKG-INFO": ABOUT.replace("NAME", name), **source_files(name)}
    with tarfile.open(archive, "w:gz") as packed:
        for file, text in texts.items():
            about = tarfile.TarInfo(f"{name}-{VERSION}/{file}")
            about.size = len(text.encode())
            packed.addfile(about, io.BytesIO(text.encode()))
    return archive


def tiny_repository(folder: Path, name: str = "tiny") -> str:
    """Put a repository with the branch `main` into `folder/NAME.git`; return its commit."""
    work = tiny_folder(folder / "work", name)
    me = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    _git(work, "init", "--quiet", "--initial-branch=main")
    _git(work, "add", ".")
    _git(work, *me, "commit", "--quiet", "--message", "tiny")
    _git(folder, "clone", "--quiet", "--bare", str(work), f"{name}.git")
    _git(folder / f"{name}.git", "update-server-info")
    return _git(work, "rev-parse", "HEAD")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; yield its address."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
