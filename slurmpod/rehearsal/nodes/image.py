"""The node image: a Debian root directory with the contents of the HyperPod AMI at first boot.

It is baked once per version of Slurm and named after the digest of its inputs, so that a change
bakes a new one. HyperPod's own image is Ubuntu.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from slurmpod.platform_profiles.slurm_versions import DEBIAN, DEFAULT_SLURM, Debian, SlurmVersion
from slurmpod.rehearsal.nodes.additions import NOTHING, Additions
from slurmpod.rehearsal.nodes.apt_sources import debian_mirror
from slurmpod.rehearsal.nodes.errors import BakeFailed
from slurmpod.rehearsal.state import images

PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "munge",
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "slurm-wlm-mysql-plugin",
    "sackd",
    "libpam-slurm-adopt",
    "libslurm-dev",
    "tcc",
    "libc6-dev",
    "patchelf",
    "mariadb-server",
    "faketime",
    "awscli",
    "openssh-client",
    "openssh-server",
    "prometheus",
    "prometheus-node-exporter",
    "sudo",
    "iproute2",
    "iputils-ping",
    "netcat-openbsd",
    "procps",
    "python3",
    "python3-venv",
    "python3-pip",
    "kmod",
    "ca-certificates",
    "curl",
    "gettext-base",
    "jq",
    "less",
    "logrotate",
)
FILES = Path(__file__).with_name("image_files")

_DPKG_CONFIG_PATH = "etc/dpkg/dpkg.cfg.d/image"
_DPKG_CONFIG = FILES / "root" / _DPKG_CONFIG_PATH
_OPTIONS = (
    "--mode=root",
    "--format=directory",
    "--variant=minbase",
    '--aptopt=Acquire::Languages "none"',
    '--aptopt=Acquire::Retries "3"',
    # Testing's index is valid for a week, stable's forever: a mirror may lag behind.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    '--extract-hook=rm -r "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/share/locale/*',
)
_HOOKS = (
    # With --dpkgopt, mmdebstrap would filter the first packages with a Python program.
    f'--setup-hook=install -D -m 644 {shlex.quote(str(_DPKG_CONFIG))} "$1/{_DPKG_CONFIG_PATH}"',
)
_ARCHIVE_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_DEFAULT_MIRROR = "http://deb.debian.org/debian"
_LOG_TAIL_LINES = 15


def image_path(additions: Additions = NOTHING, slurm: SlurmVersion = DEFAULT_SLURM) -> Path:
    """Return the path of the image, which exists once `bake` has built it."""
    return images() / digest(additions, slurm)


def digest(additions: Additions = NOTHING, slurm: SlurmVersion = DEFAULT_SLURM) -> str:
    """Return the name of the image: a hash of its inputs."""
    content = hashlib.sha256()
    debian = DEBIAN[slurm]
    include = _include(additions, debian)
    for text in (slurm, str(debian), *_OPTIONS, include, *additions.beside_packages):
        content.update(f"{text}\n".encode())
    for path in sorted(FILES.rglob("*")):
        if path.is_file():
            content.update(f"{path.relative_to(FILES)}\n".encode())
            content.update(path.read_bytes())
    return content.hexdigest()[:16]


def bake(
    progress: Callable[[str], None],
    additions: Additions = NOTHING,
    slurm: SlurmVersion = DEFAULT_SLURM,
) -> Path:
    """Build the image unless it exists, and return its root directory.

    `additions` are for a user's image, as a user's AMI adds to HyperPod's. Takes about half a
    minute, mostly to unpack; needs root and the network. `progress` gets a line for each stage.
    Several processes may call it at once: one bakes, the others wait. Raises BakeFailed with the
    end of mmdebstrap's log.
    """
    image = image_path(additions, slurm)
    if image.exists():
        return image
    images().mkdir(parents=True, exist_ok=True, mode=0o700)  # it contains setuid programs
    with _lock(progress):
        for remains in images().glob("*.partial"):  # of bakes that were killed
            shutil.rmtree(remains)
        if not image.exists():
            with additions.fetched(progress, DEBIAN[slurm].python) as hooks:
                _bake(image, _mmdebstrap(additions, hooks, slurm), progress)
    return image


@contextmanager
def _lock(progress: Callable[[str], None]) -> Iterator[None]:
    with (images() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that bakes the node image")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _bake(image: Path, command: list[str], progress: Callable[[str], None]) -> None:
    partial = image.with_suffix(".partial")
    log_path = image.with_suffix(".log")
    for name in ("root", "work", "lower"):
        (partial / name).mkdir(parents=True)
    try:
        with (
            log_path.open("w", buffering=1) as log,
            _start(_contained(command), partial) as process,
        ):
            try:
                for line in process.stderr or ():
                    log.write(line)
                    if line.startswith("I: "):
                        progress(_stage(line))
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise BakeFailed(_failure(log_path))
        os.sync()  # dpkg did not: a power cut after the rename would leave an incomplete image
        (partial / "root").rename(image)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _start(command: list[str], folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def _stage(line: str) -> str:
    """Return the stage that mmdebstrap reports, without details."""
    return line.removeprefix("I: ").partition(" in shell:")[0].rstrip(".\n")


def _mmdebstrap(additions: Additions, hooks: Sequence[str], slurm: SlurmVersion) -> list[str]:
    customize = f'sh {shlex.quote(str(FILES / "customize.sh"))} "$1" {slurm}'
    keyring = [f"--keyring={_ARCHIVE_KEYRING}"] if _ARCHIVE_KEYRING.exists() else []
    return [
        "mmdebstrap",
        *_OPTIONS,
        _include(additions, DEBIAN[slurm]),
        *keyring,
        *_HOOKS,
        *(f"--customize-hook={hook}" for hook in (customize, *hooks)),
        DEBIAN[slurm].suite,
        "root",
        *_sources(DEBIAN[slurm]),
    ]


def _sources(debian: Debian) -> list[str]:
    """Return lines of apt's sources; of two versions of a package apt takes the newer one."""
    mirror = debian_mirror() or _DEFAULT_MIRROR
    suites = [debian.suite, *([debian.beside] if debian.beside else [])]
    return [f"deb {mirror} {suite} main" for suite in suites]


def _include(additions: Additions, debian: Debian) -> str:
    names = (*PACKAGES, *additions.packages)
    packages = [name for name in names if name not in debian.from_beside]
    beside = [f"{name}/{debian.beside}" for name in debian.from_beside]
    return f"--include={','.join((*packages, *beside))}"


_ON_VOLATILE_OVERLAY = """
mount -t overlay -o volatile,lowerdir=lower,upperdir=root,workdir=work overlay root ||
    echo "building the image without an overlay: this takes longer" >&2
exec "$@"
"""
"""dpkg syncs to disk after each step; this file system ignores that. Its contents are kept in the
folder over which it is mounted."""


def _contained(command: list[str]) -> list[str]:
    """Return `command` wrapped so that it and its mounts end with the thread that started it."""
    return [
        "setpriv",
        "--pdeathsig=KILL",
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--",
        *("sh", "-c", _ON_VOLATILE_OVERLAY, "sh"),
        *command,
    ]


def _failure(log_path: Path) -> str:
    tail = log_path.read_text().splitlines()[-_LOG_TAIL_LINES:]
    fix = "  fix: make sure that this machine reaches Debian's packages, and try again"
    return "\n".join([f"cannot bake the node image; {log_path} ends with:", *tail, fix])


def image_command(image: Path, program: str, *arguments: str) -> list[str]:
    """Return a command that runs `program`, such as `promtool`, from the image with its libraries.

    Raises FileNotFoundError if the image does not have the program.
    """
    path = image / "usr/bin" / program
    loaders = sorted(image.glob("usr/lib*/ld-linux-*.so.*"))
    if not path.exists() or not loaders:
        raise FileNotFoundError(f"the image {image} has no {program} that can run here")
    libraries = ":".join(map(str, sorted(image.glob("usr/lib/*-linux-gnu"))))
    return [str(loaders[0]), "--library-path", libraries, str(path), *arguments]
