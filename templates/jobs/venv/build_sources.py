"""Build packages that have no wheel, once for all environments that need them.

A wheel is kept under the digest of its source, of the Python and of the architecture. pip accepts
an archive only with its SHA-256, and a git repository at its commit; a folder counts as its files.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SHA256 = "SHA256"
LAST_LINES = 20
REQUIREMENTS = Path("requirements.txt")
NOT_ALONE = " --no-build-isolation"
FOLDER = re.compile(r"(?P<name>\S+) @ \./(?P<path>[^\s#]+)")
LACKING = "choose nodes that have what it needs, such as a compiler or git: --partition, or --group"


@dataclass(frozen=True)
class Source:
    """A line of the list: a requirement in pip's format, and optionally its SHA-256.

    It is built alone, or else with the packages of the environment, which it then depends on.
    """

    requirement: str
    hashes: tuple[str, ...]
    alone: bool

    @property
    def name(self) -> str:
        """The name of the package."""
        return re.split(" @ |==", self.requirement)[0]

    @property
    def folder(self) -> Path | None:
        """The path, if it is a folder next to this program."""
        found = FOLDER.match(self.requirement)
        return Path(found["path"]) if found else None

    def digest(self) -> str:
        """Return the source's identity and the platform of its wheel."""
        digest = hashlib.sha256()
        processor = (platform.python_implementation(), sysconfig.get_platform())
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        for text in (self.requirement, *self.hashes, version, *processor):
            digest.update(f"{text}\n".encode())
        if not self.alone:
            digest.update(REQUIREMENTS.read_bytes())
        for path in sorted(self.folder.rglob("*")) if self.folder else ():
            if path.is_file():
                content = path.read_bytes()
                digest.update(f"{path.as_posix()} {len(content)}\n".encode() + content)
        return digest.hexdigest()[:32]


@dataclass(frozen=True)
class Builder:
    """The builder: pip with an index, and the folder in which wheels are kept."""

    pip: tuple[str, ...]
    index: tuple[str, ...]
    kept: Path

    def wheels(self, sources: Sequence[Source]) -> list[Path]:
        """Return the wheels of all sources that apply to this node."""
        return [wheel for each in sources if (wheel := self.wheel(each))]

    def wheel(self, source: Source) -> Path | None:
        """Return the wheel, kept or built; None if its marker excludes the node."""
        place = self.kept / f"{source.name}-{source.digest()}"
        if found := _unspoiled(place):
            print(f"{source.name} was built before: {found}", flush=True)
            return found
        print(f"building {source.name}", flush=True)
        with tempfile.TemporaryDirectory(prefix="wheel-") as made:
            self._build(source, Path(made), place.with_name(f"{place.name}.log"))
            wheels = list(Path(made).glob("*.whl"))
            if not wheels:
                print(f"{source.name} is not for this node", flush=True)
                return None
            _keep(wheels[0], place)
        return place / wheels[0].name

    def _build(self, source: Source, made: Path, log: Path) -> None:
        listed = made / "requirements.txt"
        listed.write_text(_for_pip(source, made))
        options = ["--no-cache-dir", "--no-deps", "--wheel-dir", str(made), *self.index]
        if source.hashes:
            options.append("--require-hashes")
        if not source.alone:
            options.append("--no-build-isolation")
        if "==" in source.requirement.partition(" ; ")[0]:
            options += ["--no-binary", source.name]
        command = [*self.pip, "wheel", *options, "--requirement", str(listed)]
        self.kept.mkdir(parents=True, exist_ok=True)
        with log.open("w") as said:
            done = subprocess.run(
                command,
                check=False,
                env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        if done.returncode:
            sys.exit(f"{_tail(log)}{source.name} was not built; its log: {log}\n  fix: {LACKING}")


def sources_of(listed: Path | None) -> list[Source]:
    """Return the source to build."""
    return [_source(line) for line in listed.read_text().splitlines()] if listed else []


def _source(line: str) -> Source:
    words, *hashes = line.split(" --hash=")
    return Source(words.removesuffix(NOT_ALONE), tuple(hashes), not words.endswith(NOT_ALONE))


def pins_of(wheels: Sequence[Path]) -> Iterator[str]:
    """Yield pip's arguments to install them, and nothing else."""
    for wheel in wheels:
        yield f"{wheel} --hash=sha256:{_sha256(wheel)}\n"


def _for_pip(source: Source, made: Path) -> str:
    """Return the requirement; a folder is copied, as builds write into it."""
    if source.folder:
        copy = made / "source"
        shutil.copytree(source.folder, copy)
        return source.requirement.replace(f"./{source.folder}", copy.as_uri(), 1) + "\n"
    return " ".join((source.requirement, *(f"--hash={each}" for each in source.hashes))) + "\n"


def _unspoiled(place: Path) -> Path | None:
    """Return the wheel that is kept there if it is unchanged."""
    wheel = next(place.glob("*.whl"), None)
    noted = place / SHA256
    if not wheel or not noted.exists():
        return None
    return wheel if noted.read_text().strip() == _sha256(wheel) else None


def _keep(wheel: Path, place: Path) -> None:
    """Move the wheel there atomically: other jobs may build the same."""
    begun = place.with_name(f".{place.name}-{os.environ.get('SLURM_JOB_ID', os.getpid())}")
    shutil.rmtree(begun, ignore_errors=True)
    begun.mkdir()
    shutil.copy(wheel, begun)
    (begun / SHA256).write_text(f"{_sha256(wheel)}\n")
    if not _unspoiled(place):
        shutil.rmtree(place, ignore_errors=True)
        begun.rename(place)
    shutil.rmtree(begun, ignore_errors=True)


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        for block in iter(lambda: content.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _tail(log: Path) -> str:
    with log.open(errors="replace") as lines:
        return "".join(deque(lines, LAST_LINES))
