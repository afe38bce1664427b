"""Packages that an image lacks: from Ubuntu's archive, or pinned by the environment.

Pinned packages come from the environment's own bucket, where `slurmpod artefacts mirror` puts them,
or from their publisher if the network allows it. Nothing of them runs before its checksum matches
the one that the environment pins.
"""

from __future__ import annotations

import re
import threading

from slurmpod_lifecycle.machine import RUN_BY_HAND, Machine
from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.settings import Artefact
from slurmpod_lifecycle.step import CommandFailed, NotYet, StepFailed

LOCK_PATIENCE_SECONDS = 240
TIMEOUT_SECONDS = 540
"""Longer than apt waits for its lock, so that apt exits by itself and leaves nothing half done."""

_QUIETLY = ("env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1")
"""No questions, and needrestart leaves the daemons of a node in service alone."""

_OPTIONS = (
    f"DPkg::Lock::Timeout={LOCK_PATIENCE_SECONDS}",
    "Acquire::Retries=3",
    "Dpkg::Options::=--force-confdef",
    "Dpkg::Options::=--force-confold",
)
_APT_GET = (*_QUIETLY, "apt-get", "--quiet", "--yes", *(f"-o{each}" for each in _OPTIONS))

_one_at_a_time = threading.Lock()
"""Held by steps that run in parallel, so that they do not wait for apt's own lock."""

CACHE = "/var/cache/slurmpod"
KERNEL_NAMES = {"aarch64": "arm64"}
"""Architectures by `uname` whose names differ in EC2."""

MIRROR = "run 'slurmpod artefacts mirror' for this environment"
REACH = "check that the execution role may read the environment's bucket, and the node's way to it"
NO_SUCH_FILE = r"\(404\)|error: 404"
"""The messages of the AWS CLI and curl; without s3:ListBucket it would be 403."""

CURL = ("curl", "--fail", "--silent", "--show-error", "--location", "--proto", "=https")


def install(machine: Machine, *names: str, fix: str = RUN_BY_HAND) -> None:
    """Install packages; raises CommandFailed, also while another installation is running.

    Unattended upgrades on a new node hold apt's locks for minutes. apt-get waits for the lock of
    dpkg but not for that of the package lists; then the step is tried again.
    """
    with _one_at_a_time:
        _finish_interrupted(machine)
        _apt_get(machine, "update", fix=fix)
        _apt_get(machine, "install", "--no-install-recommends", *names, fix=fix)


def install_file(machine: Machine, path: str, *, fix: str = RUN_BY_HAND) -> None:
    """Install a package file; its dependencies may come from Ubuntu's archive.

    Raises CommandFailed as `install` does. The archive is used only for what is missing, so that a
    node without access to it can install a package that needs nothing more.
    """
    command = ("install", "--no-install-recommends", path)
    with _one_at_a_time:
        _finish_interrupted(machine)
        try:
            _apt_get(machine, *command, fix=fix)
        except CommandFailed:
            machine.succeeds(*_APT_GET, "update")
            _apt_get(machine, *command, fix=fix)


def _finish_interrupted(machine: Machine) -> None:
    """Complete an interrupted installation: until then apt-get refuses all others."""
    machine.succeeds(*_QUIETLY, "dpkg", "--configure", "-a")


def _apt_get(machine: Machine, *words: str, fix: str) -> None:
    machine.run(*_APT_GET, *words, fix=fix, timeout_seconds=TIMEOUT_SECONDS)


def install_artefact(node: Node, name: str) -> bool:
    """Install the package that the environment calls `name`; return whether it has one.

    Only files for this node's architecture are installed. Raises StepFailed for a file that is
    missing or has another checksum, NotYet for a network problem or another installation.
    """
    artefact = _named(node, name)
    if artefact is None:
        return False
    install_file(node.machine, _fetched(node, artefact), fix=f"check the dependencies of {name}")
    return True


def _named(node: Node, name: str) -> Artefact | None:
    found = [each for each in node.settings.node.artefacts if each.name == name]
    if not found:
        return None
    wanted = architecture(node)
    return next((each for each in found if each.architecture == wanted), None)


def architecture(node: Node) -> str:
    """Return EC2's name for the architecture of this node."""
    if node.hardware:
        return node.hardware.architecture
    kernel = node.machine.run("uname", "--machine").strip()
    return KERNEL_NAMES.get(kernel, kernel)


def _fetched(node: Node, artefact: Artefact) -> str:
    """Return the path of the file on this node; a file that was fetched earlier is reused."""
    machine, path = node.machine, f"{CACHE}/{artefact.sha256}.deb"
    if _checksum(machine, path) == artefact.sha256:
        return path
    partial = f"{path}.part"
    machine.run("mkdir", "-p", CACHE)
    source = _download(node, artefact, partial)
    found = _checksum(machine, partial)
    if found != artefact.sha256:
        machine.run("rm", "-f", partial)
        reason = f"{source} has the SHA-256 {found}, not {artefact.sha256}"
        raise StepFailed(reason, "find out why it changed, then correct sha256")
    machine.run("mv", partial, path)
    return path


def _download(node: Node, artefact: Artefact, path: str) -> str:
    """Fetch the file to `path` and return its source."""
    quietly = ("--region", node.settings.region, "--only-show-errors")
    try:
        node.machine.run("aws", "s3", "cp", *quietly, artefact.mirror, path, fix=REACH)
    except CommandFailed as error:
        if not node.settings.node.has_way_out:
            raise _final_if_missing(error, MIRROR) from None
    else:
        return artefact.mirror
    try:
        node.machine.run(*CURL, "--output", path, artefact.url, fix=MIRROR)
    except CommandFailed as error:
        raise _final_if_missing(error, f"correct its url, or {MIRROR}") from None
    return artefact.url


def _final_if_missing(error: CommandFailed, fix: str) -> StepFailed:
    """Return a permanent failure if the server has no such file: waiting does not help."""
    if re.search(NO_SUCH_FILE, error.reason):
        return StepFailed(error.reason, fix)
    return NotYet(error.reason, error.fix)


def _checksum(machine: Machine, path: str) -> str:
    """Return the SHA-256 of a file, or an empty text if it does not exist."""
    if not machine.succeeds("test", "-f", path):
        return ""
    return machine.run("sha256sum", path).partition(" ")[0]
