"""Lines of the user's own scripts and hooks that need more than rehearsed nodes have.

Nodes have no internet access and only the programs of their image. The check reads a line's text,
so it also reports lines that never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from slurmpod.resolve import Resolved
from slurmpod.rules.egress import COMMANDS, needs_internet
from slurmpod.rules.own_scripts import lines_in, texts_of

SHOWN = 40

_NAMES = (
    "add-apt-repository ansible ansible-galaxy ansible-playbook apptainer bc bzip2 cargo chronyc "
    "cmake conda containerd crudini ctr dcgmi dkms dnf docker docker-compose dpkg-reconfigure "
    "dracut enroot ethtool expect fi_info fio g++ gcc gdb git git-lfs gpg helm htop ibstat "
    "iptables kubectl lctl ldapsearch lfs lnetctl lsb_release lshw lspci lstopo lvcreate lvextend "
    "lvm make mamba mdadm mkfs.ext4 mkfs.xfs modinfo modprobe mount-s3 mpirun neuron-ls nfsstat "
    "npm numactl nvidia-ctk nvidia-smi nvme parted patch pip pip3 pipx pvcreate realm rsync screen "
    "singularity snap sss_cache sssd strace sysstat tmux tree ufw unzip update-initramfs uv "
    "vgcreate vim virtualenv wget xfs_growfs yq yum zip zstd "
)
PROGRAMS = frozenset(_NAMES.split())
"""Programs that public lifecycle scripts use; any other word may be a function."""

_FOLDERS = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "opt/slurm/bin")
_PREFIXES = re.compile(
    r"^(?:(?:if|then|else|elif|do|while|until|!|\{|\(|sudo|time|exec)\s+|\w+=\S*\s+)+"
)
_LISTS = re.compile(r"\s*(?:sudo\s+)?apt(?:-get)?\s(?:.*\s)?update\s*$")
"""`apt update` succeeds without its archive: it keeps the lists that it has, with a warning."""
_INSTALLS = re.compile(r"\bapt(?:-get)?\s.*?\binstall\b(?P<packages>.*)")

BEYOND = (
    "Nodes of a rehearsal have no internet access and only the image's programs. These lines of"
    "your scripts need more:"
)
WHAT_TO_DO = (
    "  fix: bake an image with it: slurmpod prepare --with PACKAGE --name IMAGE; then rehearse\n"
    "  with --image IMAGE. Or allow a mirror: --allow HOST:PORT. See docs/own-scripts.md"
)


def needs_of_scripts(resolved: Resolved, image: Path) -> str:
    """Return the lines that need more than nodes from `image` have, with a fix; empty if none."""
    found = list(dict.fromkeys(_needs(resolved, Image(image))))
    if not found:
        return ""
    more = len(found) - SHOWN
    return "\n".join(
        [
            BEYOND,
            *(f"  {each}" for each in found[:SHOWN]),
            *([f"  and {more} more"] if more > 0 else []),
            WHAT_TO_DO,
        ]
    )


def _needs(resolved: Resolved, image: Image) -> Iterator[str]:
    for _, name, text in texts_of(resolved):
        missing: set[str] = set()
        for line in lines_in(name, text):
            if (found := _fetched_by(line.text)) and not image.has_packages_of(line.text):
                yield f"{line} needs the internet: {found}"
            for program in programs_in(line.text):
                if program not in missing and not image.has(program):
                    missing.add(program)
                    yield f"{line} needs {program}, which the image lacks"


def _fetched_by(line: str) -> str | None:
    """Return the first part of a line that cannot succeed without the internet, or None."""
    commands = (each for each in COMMANDS.split(line) if not _LISTS.match(each))
    return next(filter(None, map(needs_internet, commands)), None)


def programs_in(line: str) -> Iterator[str]:
    """Yield the known programs that a shell line starts."""
    for command in COMMANDS.split(line):
        word = _PREFIXES.sub("", command.strip()).partition(" ")[0].rpartition("/")[2]
        if word in PROGRAMS:
            yield word


class Image:
    """The programs and packages of a root directory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        status = root / "var/lib/dpkg/status"
        text = status.read_text(errors="replace") if status.exists() else ""
        self._packages = frozenset(re.findall(r"^Package: (\S+)$", text, re.MULTILINE))

    def has(self, program: str) -> bool:
        """Return whether a program exists; it may be a link whose target only nodes have."""
        paths = (self._root / folder / program for folder in _FOLDERS)
        return any(path.exists() or path.is_symlink() for path in paths)

    def has_packages_of(self, line: str) -> bool:
        """Return whether a line installs packages with apt that the image already has."""
        installs = _INSTALLS.search(line)
        names = [
            word
            for word in (installs["packages"].split() if installs else ())
            if not word.startswith("-")
        ]
        return bool(names) and all(name in self._packages for name in names)
