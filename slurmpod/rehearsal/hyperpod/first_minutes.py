"""What a node lacks, and what keeps it busy, when it has booted for the first time.

The rehearsal's image is one for all profiles: what a profile's image does not have is taken away.
"""

from __future__ import annotations

import shlex

from slurmpod.platform_profiles.profile import Image
from slurmpod.rehearsal.hyperpod.node_files import run_script
from slurmpod.rehearsal.nodes.machines import Machines

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
"""Holds apt's lock, as unattended upgrades do, from when it returns."""

_FORGET_NAME = """\
line=$(grep -w "$(hostname)" /etc/hosts)
sed -i "/\\b$(hostname)\\b/d" /etc/hosts
setsid sh -c 'sleep SECONDS; echo "$0" >>/etc/hosts' "$line" >/dev/null 2>&1 </dev/null &
"""


def begin(machines: Machines, hostname: str, image: Image) -> None:
    """Make a node that has just booted what the profile says; raises ClusterFailed."""
    if image.absent_packages:
        packages = shlex.join(image.absent_packages)
        run_script(machines, hostname, f"dpkg --purge --force-depends {packages} >/dev/null 2>&1")
    if image.own_name_unknown_milliseconds:
        seconds = str(image.own_name_unknown_milliseconds / 1000)
        run_script(machines, hostname, _FORGET_NAME.replace("SECONDS", seconds))
    if image.apt_locked_milliseconds:
        program = _LOCK.replace("SECONDS", str(image.apt_locked_milliseconds / 1000))
        run_script(machines, hostname, shlex.join(["python3", "-c", program]))
