"""Install a job's files into their folder: this runs on a node, with Python 3.10 and nothing else.

Files arrive under their digests in a separate folder on the same file system. The folder of a new
job is assembled there and then renamed; in an existing one each file is replaced atomically, after
all of them have arrived.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import Any

ARRIVING = "slurmpod-arriving"
NOT_FETCHED = "slurmpod-not-fetched"
BLOCK = 1 << 20


def main(kind: str, value: str) -> None:
    """Run a request, which is an argument itself or is stored at an address."""
    try:
        packed = base64.b64decode(value) if kind == "inline" else _carried_request(value)
        request = json.loads(zlib.decompress(packed))
        print(json.dumps(Copy(request).done()))
    except (OSError, EOFError, tarfile.TarError) as error:
        sys.exit(f"{error}; the same command goes on from here")


class Copy:
    """A folder of the cluster, and its wanted files: their digests and modes."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.files: dict[str, tuple[str, bool]] = request["files"]
        self.place = Path(request["place"])
        new = self.place.parent / f".{self.place.name}.{ARRIVING}"
        self.stage = self.place / f".{ARRIVING}" if self.place.exists() else new

    def done(self) -> dict[str, Any]:
        """Compare the folder with the wanted files, or install the files that were sent."""
        if self.request["action"] == "install":
            self.install()
        return self.compared()

    def compared(self) -> dict[str, Any]:
        """Return the names with other content, the missing digests, and whether all is complete."""
        there = {name: _digest(self.place / name) for name in self.files}
        other = {name for name, (digest, _) in self.files.items() if there[name] != digest}
        lacking = {self.files[name][0] for name in other} - self.arrived()
        modes = all(
            (self.place / name).stat().st_mode & 0o777 == _mode(is_program)
            for name, (_, is_program) in self.rest(other)
        )
        return {
            "differing": sorted(name for name in other if there[name]),
            "lacking": sorted(lacking),
            "whole": not other and modes,
        }

    def rest(self, other: set[str]) -> list[tuple[str, tuple[str, bool]]]:
        """Return the files that need no copy."""
        return [(name, file) for name, file in self.files.items() if name not in other]

    def arrived(self) -> set[str]:
        """Return the digests of the files that are ready."""
        return {each.name for each in self.stage.glob("*") if each.suffix == ""}

    def install(self) -> None:
        """Receive files, and install all of them once they are complete."""
        self.stage.mkdir(parents=True, exist_ok=True)
        for pack in self.request["packs"]:
            self.unpack(pack)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the session may end now, this does not
        if self.stage.parent == self.place:
            self.replace()
        else:
            self.make()
        shutil.rmtree(self.stage, ignore_errors=True)

    def unpack(self, source: dict[str, str]) -> None:
        """Put the files of an archive with those that have arrived, each atomically."""
        packed, unpacked = self.stage / "pack.part", self.stage / "file.part"
        _fetch(source, packed)
        with tarfile.open(packed, "r:gz") as archive:
            for member in archive:
                content = archive.extractfile(member)
                if content is None or Path(member.name).name != member.name:
                    sys.exit(f"{member.name} is no file of a pack")
                with unpacked.open("wb") as target:
                    shutil.copyfileobj(content, target)
                if _digest(unpacked) != member.name:
                    sys.exit(f"a file arrived with other content than {member.name}")
                unpacked.replace(self.stage / member.name)
        packed.unlink()

    def make(self) -> None:
        """Assemble a new folder before it gets its name."""
        tree = self.stage / "tree.part"
        shutil.rmtree(tree, ignore_errors=True)
        for name in self.files:
            self.prepare(name, tree / name)
        tree.rename(self.place)

    def replace(self) -> None:
        """Replace files that differ: every file is ready before the first gets its name."""
        differing = [
            name for name in self.files if _digest(self.place / name) != self.files[name][0]
        ]
        ready = [self.stage / f"{number}.part" for number in range(len(differing))]
        for name, file in zip(differing, ready, strict=True):
            self.prepare(name, file)
        for name, file in zip(differing, ready, strict=True):
            target = self.place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)
        for name, (_, is_program) in self.rest(set(differing)):
            (self.place / name).chmod(_mode(is_program))

    def prepare(self, name: str, target: Path) -> None:
        """Write a file with its mode, and a time stamp that it did not have before.

        Python reuses compiled code if a file has the same time stamp and size.
        """
        digest, is_program = self.files[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        if not (self.stage / digest).is_file():
            sys.exit(f"{name} has not arrived; the same command brings it")
        shutil.copyfile(self.stage / digest, target)
        target.chmod(_mode(is_program))
        before = self.place / name
        if before.exists() and before.stat().st_mtime + 1 > target.stat().st_mtime:
            later = before.stat().st_mtime + 1
            os.utime(target, (later, later))


def _carried_request(source: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "request"
        _fetch(json.loads(source), file)
        return file.read_bytes()


def _fetch(source: dict[str, str], target: Path) -> None:
    """Receive a file; content with another SHA-256 is rejected."""
    if "inline" in source:
        target.write_bytes(base64.b64decode(source["inline"]))
    elif "file" in source:
        file = Path(source["file"]).expanduser()
        target.write_bytes(base64.b64decode(file.read_bytes()))
        file.unlink()
    else:
        _download(source, target)
    if _hash(target, hashlib.sha256()) != source["sha256"]:
        sys.exit("what arrived has another SHA-256 than what was sent; nothing was changed")


def _download(source: dict[str, str], target: Path) -> None:
    options = ["--only-show-errors", "--region", source["region"]]
    command = ["aws", "s3", "cp", *options, source["s3"], str(target)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        sys.exit(f"{NOT_FETCHED} {said}")


def _digest(file: Path) -> str:
    """Return the digest of a file, or nothing if it does not exist."""
    return _hash(file, hashlib.blake2b(digest_size=16)) if file.is_file() else ""


def _hash(file: Path, found: Any) -> str:
    with file.open("rb") as content:
        while block := content.read(BLOCK):
            found.update(block)
    return found.hexdigest()


def _mode(is_program: bool) -> int:
    return 0o755 if is_program else 0o644


main(sys.argv[1], sys.argv[2])
