"""slurm.conf on controllers, as profiles say: which ones get a new text, and what of it stays."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.hyperpod.cluster_agent import rewrite_slurm_configuration
from slurmpod.rehearsal.hyperpod.provisioning import Provisioning
from tests.pure.hyperpod.clusters import ON_CREATE, cluster, group, node

FIRST, SECOND = "ip-10-0-0-4", "ip-10-0-0-5"
OURS = b"include accounting.conf\n"


class Machines:
    """Two controllers whose files all say the same at first."""

    def __init__(self) -> None:
        self.written: dict[str, bytes] = {}

    def is_off(self, _: str) -> bool:
        return False

    def run(
        self, hostname: str, command: Sequence[str], *, stdin: bytes, **_: object
    ) -> subprocess.CompletedProcess[bytes]:
        if stdin:
            self.written[hostname] = stdin
        return subprocess.CompletedProcess(command, 0, OURS, b"")


@pytest.mark.parametrize(
    ("profiles", "names", "keeps_ours"),
    [
        ((), {FIRST, SECOND}, True),
        (("one-controller-rewritten",), {FIRST}, True),
        (("overwritten",), {FIRST, SECOND}, False),
    ],
)
def test_a_profile_says_how_slurm_conf_is_written_again(
    profiles: tuple[str, ...], names: set[str], keeps_ours: bool
) -> None:
    nodes = [node("head", "10.0.0.4"), node("head", "10.0.0.5"), node("cpu", "10.0.0.6")]
    machines: Any = Machines()
    rewrite_slurm_configuration(
        machines,
        cluster(group("head", 2, lifecycle=ON_CREATE), group("cpu"), nodes=nodes),
        Provisioning("head", None, {"cpu": "cpu"}),
        load(profiles).profile.slurm_conf,
    )
    assert set(machines.written) == names
    text = machines.written[FIRST]
    assert b"NodeName=ip-10-0-0-6" in text
    assert (OURS in text) is keeps_ours
