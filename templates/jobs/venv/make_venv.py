"""Create a Python environment with exactly the pins of requirements.txt, under one name.

Each environment has its own folder, whose name depends on the pins and the version of Python. The
name is a link to the newest complete one: running programs continue with theirs. pip installs
wheels only, with one of the pinned SHA-256; packages without a wheel are built before.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from build_sources import REQUIREMENTS, Builder, Source, pins_of, sources_of

COMPLETE = "COMPLETE"
BUILT = "built-wheels"
PIP = ("-m", "pip", "--no-input", "--disable-pip-version-check")
NO_VENV = "install the package python3-venv on the nodes, or set PYTHON to a Python that has it"


def main(options: argparse.Namespace) -> None:
    """Create the environment unless it exists; then point the link to it."""
    name: Path = options.at
    if name.exists() and not name.is_symlink():
        sys.exit(
            f"{name} is there, and is no link of this job: move it away, or choose another --at"
        )
    sources = sources_of(options.sources)
    folder = name.with_name(f"{name.name}-{_digest(sources)}")
    if (folder / COMPLETE).exists():
        print(f"{folder} is there already", flush=True)
    else:
        _make(folder, sources, options)
    _lead(name, folder)
    others = [each.parent for each in name.parent.glob(f"{name.name}-*/{COMPLETE}")]
    for other in sorted(set(others) - {folder}):
        print(f"{other} is an older one: remove it when nothing runs with it", flush=True)
    print(f"PYTHON={name}/bin/python", flush=True)


def _digest(sources: list[Source]) -> str:
    version = f"{sys.version_info.major}.{sys.version_info.minor}\n".encode()
    built = "".join(f"{each.digest()}\n" for each in sources).encode()
    return hashlib.sha256(version + REQUIREMENTS.read_bytes() + built).hexdigest()[:16]


def _make(folder: Path, sources: list[Source], options: argparse.Namespace) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # an interrupted one
    try:
        venv.create(folder, symlinks=True, with_pip=True)  # its libraries may be next to it
    except (subprocess.CalledProcessError, OSError) as error:
        sys.exit(f"{folder} cannot be made: {error}\n  fix: {NO_VENV}")
    if options.wheels:
        with tempfile.TemporaryDirectory(prefix="wheels-") as wheels:
            _fetch(options.wheels.read_text().split(), wheels, options.region)
            _install(folder, "--no-index", "--find-links", wheels)
    else:
        index = ("--index-url", options.index)
        _install(folder, *_built(folder, sources, index), *index)
    (folder / COMPLETE).touch()


def _built(folder: Path, sources: list[Source], index: tuple[str, ...]) -> tuple[str, ...]:
    """Build the sources, or find their wheels; return pip's arguments for them.

    Those that are not built alone come last, when all others are installed.
    """
    if not sources:
        return ()
    builder = Builder((str(folder / "bin" / "python"), *PIP), index, folder.with_name(BUILT))
    pins = folder / "built.txt"
    given = ("--requirement", str(pins))
    wheels = builder.wheels([each for each in sources if each.alone])
    pins.write_text("".join(pins_of(wheels)))
    if late := [each for each in sources if not each.alone]:
        _install(folder, "--no-deps", *given, *index)
        wheels += builder.wheels(late)
        pins.write_text("".join(pins_of(wheels)))
    return given


def _fetch(addresses: list[str], wheels: str, region: str) -> None:
    """Copy the wheels from the environment's bucket to this node."""
    for address in addresses:
        print(f"fetching {address.rpartition('/')[2]}", flush=True)
        command = ["aws", "s3", "cp", "--only-show-errors", "--region", region, address, wheels]
        if subprocess.run(command, check=False).returncode:
            sys.exit(
                f"{address} cannot be fetched: see that it is there, and the job's role reads it"
            )


def _install(folder: Path, *source: str) -> None:
    pins = ("--require-hashes", "--only-binary", ":all:", "--requirement", str(REQUIREMENTS))
    python = str(folder / "bin" / "python")
    command = [python, *PIP, "install", "--no-cache-dir", *pins, *source]
    if subprocess.run(command, check=False).returncode:
        sys.exit("pip has installed nothing; its errors are above")
    subprocess.run([python, *PIP, "list"], check=True)


def _lead(name: Path, folder: Path) -> None:
    """Point the link to the folder, atomically."""
    link = name.with_name(f".{name.name}-{os.getpid()}")
    link.symlink_to(folder.name)
    link.replace(name)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--at", type=Path, required=True, help="the name of the environment")
    parser.add_argument("--index", help="address of the index with the wheels")
    parser.add_argument("--sources", type=Path, help="file with the sources to build, one per line")
    parser.add_argument("--wheels", type=Path, help="file with addresses of wheels in a bucket")
    parser.add_argument("--region", help="the bucket's Region")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
