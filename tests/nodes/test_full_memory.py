"""A node whose folder in memory is full, as jobs leave it: its checks read command output."""

from __future__ import annotations

import subprocess
import sys

from tests.golden_files import ROOT

FULL = """
mount -t tmpfs -o size=64k tmpfs /dev/shm
head -c 1M /dev/zero > /dev/shm/torch_0 2> /dev/null
"$1" -c "$2"
"""
PROBE = """
from slurmpod_health.probe import probe
print(probe("seq", "-f", "GPU %g: H100", "0", "7", seconds=60), end="")
"""


def test_no_output_of_a_command_is_lost() -> None:
    shown = subprocess.run(
        ["unshare", "--mount", "sh", "-c", FULL, "sh", sys.executable, PROBE],
        cwd=ROOT / "lifecycle_scripts",
        stdout=subprocess.PIPE,
        text=True,
    )
    assert shown.stdout.splitlines() == [f"GPU {number}: H100" for number in range(8)]
