"""Short scripts on nodes: what their callers are told when one goes wrong."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from embedded_aws.cluster import ClusterFailed
from slurmpod.rehearsal.hyperpod.node_files import run_script


class Machines:
    """A machine on which a script ends with an exception."""

    def run(self, *_: object, timeout_seconds: float, **__: object) -> Any:
        raise subprocess.TimeoutExpired("sh", timeout_seconds)


def test_a_script_that_hangs_is_a_failure_like_any_other() -> None:
    machines: Any = Machines()
    with pytest.raises(
        ClusterFailed, match="ip-10-0-0-5: command timed out after 60 s: sleep infinity"
    ):
        run_script(machines, "ip-10-0-0-5", "sleep infinity")
