"""Differences of a freshly booted node from the rehearsal's image, and what keeps it busy.

Rehearsals have one image for all profiles with the same Slurm: software that a profile's image
lacks is removed, and software that it has in addition is replaced by a stub.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from slurmpod.platform_profiles.profile import Image
from slurmpod.rehearsal.hyperpod.node_files import run_script
from slurmpod.rehearsal.nodes.machines import Machines

PACKAGES = {"mariadb": "mariadb-server"}
"""Software that the rehearsal's image has, and the packages to remove if it is absent."""

LINK = "slurm"
USERS = {"ubuntu": 1000}
"""Other software of that image."""

_PROGRAM = r"""
printf '#!/bin/sh\n' >/usr/bin/NAME
chmod 755 /usr/bin/NAME
"""
_DOCKER = r"""
cat >/etc/systemd/system/docker.service <<'END'
[Service]
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
END
systemctl enable --quiet --now docker
"""
_PYXIS = r"""
mkdir -p /opt/slurm/lib/slurm
library=/opt/slurm/lib/slurm/spank_pyxis.so
cat >/tmp/pyxis.c <<'END'
#include <slurm/spank.h>
SPANK_PLUGIN(pyxis, 1)
static int take(int value, const char *argument, int remote) { return 0; }
static struct spank_option image = {"container-image", "IMAGE", "the image", 1, 0, take};
int slurm_spank_init(spank_t spank, int count, char **arguments)
{
    return spank_option_register(spank, &image);
}
END
tcc -shared -o $library /tmp/pyxis.c
patchelf --clear-execstack $library
rm /tmp/pyxis.c
printf '\nrequired %s\n' $library >>/opt/slurm/etc/plugstack.conf
"""
STAND_INS: Mapping[str, str] = {
    "docker": _PROGRAM.replace("NAME", "docker") + _DOCKER,
    "enroot": _PROGRAM.replace("NAME", "enroot"),
    "pyxis": _PYXIS,
    "pam_slurm_adopt": "install -m 644 /usr/local/lib/pam_slurm_adopt.so /usr/lib/*/security/",
}
"""Software that the rehearsal's image lacks: what scripts look for exists and does nothing.

Only the last one works: it is Debian's own, stored elsewhere in the image."""

_LOCK = """\
import fcntl, os, sys, time
end, begin = os.pipe()
if os.fork():
    sys.exit(not os.read(end, 1))
os.setsid()
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
os.write(begin, b"1")
for number in range(3):
    os.close(number)
time.sleep(SECONDS)
"""
"""Holds apt's lock, as unattended upgrades do, from the moment it returns."""

_FORGET_NAME = """\
line=$(grep -w "$(hostname)" /etc/hosts)
sed -i "/\\b$(hostname)\\b/d" /etc/hosts
setsid sh -c 'sleep SECONDS; echo "$0" >>/etc/hosts' "$line" >/dev/null 2>&1 </dev/null &
"""


def begin(machines: Machines, hostname: str, image: Image) -> None:
    """Make a freshly booted node match the profile; raises ClusterFailed."""
    scripts = [*what_differs(image), *_what_keeps_it_busy(image)]
    if scripts:
        run_script(machines, hostname, "\n".join(["set -eu", *scripts]))


def what_differs(image: Image) -> Iterator[str]:
    """Yield scripts that turn the rehearsal's image into the profile's."""
    software = image.software.model_dump()
    absent = [package for name, package in PACKAGES.items() if not software[name]]
    if absent:
        yield f"dpkg --purge --force-depends {shlex.join(absent)} >/dev/null 2>&1"
    yield from (script for name, script in STAND_INS.items() if software[name])
    yield from _trees(f"slurm-{image.slurm}", image.slurm_trees)
    for name, number in image.users.items():
        if USERS.get(name) != number:
            yield _user(name, number)
    for number, folder in enumerate(image.disks, start=1):
        yield _disk(f"/dev/nvme{number}n1", folder)


def _trees(baked: str, names: Sequence[str]) -> Iterator[str]:
    """Yield commands that arrange Slurm's folders; one named like the link replaces the link."""
    for name in names:
        if name != baked:
            yield f"rm -f /opt/{name} && cp -a /opt/{baked} /opt/{name}"
    if names[-1] not in (baked, LINK):
        yield f"ln -sfn {names[-1]} /opt/{LINK}"
    if baked not in names:
        yield f"rm -r /opt/{baked}"


def _user(name: str, number: int) -> str:
    user = shlex.quote(name)
    return (
        f"if id -u {user} >/dev/null 2>&1; then usermod --uid {number} {user};"
        f" else useradd --create-home --uid {number} {user}; fi"
    )


def _disk(device: str, folder: str) -> str:
    """Return a command that mounts memory as a disk, including after a reboot."""
    path = shlex.quote(folder)
    entry = shlex.quote(f"{device} {folder} tmpfs defaults 0 0")
    return f"mkdir -p {path} && echo {entry} >>/etc/fstab && mount {path}"


def _what_keeps_it_busy(image: Image) -> Iterator[str]:
    if image.own_name_unknown_milliseconds:
        yield _FORGET_NAME.replace("SECONDS", str(image.own_name_unknown_milliseconds / 1000))
    if image.apt_locked_milliseconds:
        program = _LOCK.replace("SECONDS", str(image.apt_locked_milliseconds / 1000))
        yield shlex.join(["python3", "-c", program])
