"""The additions of a user's image to the node image, and the image's name.

A name refers to a list, not to files: after an update of slurmpod's node image, the next use of the
name rebuilds the image with the same additions.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from slurmpod.folders import home
from slurmpod.rehearsal.nodes.errors import BakeFailed

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")

_LINES_SHOWN = 15


@dataclass(frozen=True)
class DebFile:
    """A Debian package in a file; the hash identifies its version."""

    path: str
    sha256: str


@dataclass(frozen=True)
class Additions:
    """Debian packages by name, PyPI packages as pip requirements, and Debian packages in files."""

    packages: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    debs: tuple[DebFile, ...] = ()

    @property
    def beside_packages(self) -> tuple[str, ...]:
        """All additions except packages by name, as text that identifies the image."""
        return (
            *(f"pip {each}" for each in self.pip),
            *(f"deb {each.sha256}" for each in self.debs),
        )

    @contextmanager
    def fetched(self, progress: Callable[[str], None], python: str) -> Iterator[tuple[str, ...]]:
        """Fetch the PyPI packages; yield the commands that install everything in a root directory.

        `python` is the image's version. The commands are mmdebstrap customize hooks: shell code
        with the directory as $1. Raises BakeFailed.
        """
        with tempfile.TemporaryDirectory() as folder:
            hooks = []
            if self.debs:
                hooks.append(_install_debs([_checked(each) for each in self.debs]))
            if self.pip:
                progress(f"fetching {' '.join(self.pip)}")
                _download(self.pip, folder, python)
                hooks.append(_install_wheels(self.pip, folder))
            yield tuple(hooks)


NOTHING = Additions()


def deb_file(path: Path) -> DebFile:
    """Return a Debian package in a file; raises OSError if it cannot be read."""
    return DebFile(str(path.absolute()), hashlib.sha256(path.read_bytes()).hexdigest())


def name_additions(name: str, additions: Additions) -> None:
    """Save additions under a name."""
    file = _file(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{json.dumps(asdict(additions), indent=2)}\n", encoding="utf-8")


def named_additions(name: str) -> Additions:
    """Return the additions of a name; the BakeFailed for an unknown name lists the known ones."""
    try:
        written = json.loads(_file(name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(file.stem for file in _file(name).parent.glob("*.json"))) or "none"
        raise BakeFailed(
            f"no image is called '{name}'; images: {known}\n"
            f"  fix: slurmpod prepare --with PACKAGE --name {name}"
        ) from None
    debs = tuple(DebFile(**each) for each in written["debs"])
    return Additions(tuple(written["packages"]), tuple(written["pip"]), debs)


def _file(name: str) -> Path:
    return home() / "named-images" / f"{name}.json"


def _checked(deb: DebFile) -> str:
    """Return the path of an unchanged file; raises BakeFailed."""
    try:
        is_same = deb_file(Path(deb.path)) == deb
    except OSError as error:
        raise BakeFailed(f"{deb.path} cannot be read: {error.strerror}") from error
    if not is_same:
        raise BakeFailed(f"{deb.path} has changed\n  fix: save the image again: slurmpod prepare")
    return deb.path


def _install_debs(paths: Sequence[str]) -> str:
    """Return the hook that installs packages from files with their dependencies."""
    install = "apt-get install --yes --no-install-recommends /tmp/debs/*.deb"
    return (
        f'mkdir "$1/tmp/debs" && cp {shlex.join(paths)} "$1/tmp/debs/"'
        f' && chroot "$1" sh -c {shlex.quote(install)} && rm -r "$1/tmp/debs"'
    )


def _install_wheels(names: Sequence[str], folder: str) -> str:
    install = (
        "python3 -m pip install --quiet --root-user-action=ignore --break-system-packages"
        f" --no-index --find-links=/tmp/wheels {shlex.join(names)}"
    )
    return (
        f'cp -R {shlex.quote(folder)} "$1/tmp/wheels" && chroot "$1" sh -c {shlex.quote(install)}'
        ' && rm -r "$1/tmp/wheels"'
    )


def _download(names: Sequence[str], folder: str, python: str) -> None:
    """Fetch packages and their dependencies, with this machine's pip settings."""
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
    done = subprocess.run(
        [*fetch, f"--python-version={python}", f"--dest={folder}", *names],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        said = "\n".join(done.stdout.splitlines()[-_LINES_SHOWN:])
        raise BakeFailed(f"pip cannot fetch {' '.join(names)}:\n{said}")
