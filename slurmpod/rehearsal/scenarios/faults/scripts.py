"""The lifecycle scripts run again on a node, while something is wrong there.

They run as HyperPod's agent runs them: as root, without HOME and terminal, in the bundle's folder.
"""

from __future__ import annotations

import secrets
import subprocess
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.enter import machine_command
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import machines_cgroup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

    from slurmpod.rehearsal.scenarios.faults.cluster import FaultCluster
    from slurmpod.rehearsal.scenarios.faults.watch import Watch

_THERE = """
newest=$(find /tmp -maxdepth 5 -name set_up_node.sh -printf '%T@ %h\\n' | sort -n | tail -n 1)
cd "${newest#* }" && exec "$@"
"""
_SCRIPTS = ("bash", "set_up_node.sh")


class ScriptsRun:
    """One run of the scripts that goes on in the background, in a cgroup of its own."""

    def __init__(self, process: subprocess.Popen[bytes], cgroup: Path, output: IO[bytes]) -> None:
        self._process = process
        self._cgroup = cgroup
        self._output = output

    def printed(self) -> str:
        """Return what it has printed until now."""
        self._output.seek(0)
        return self._output.read().decode()

    def require_success(self, watch: Watch) -> None:
        """Wait until it ends, and see that it ended well."""
        watch.until("the scripts end", lambda: self._process.poll() is not None, wanted=True)
        watch.until("their last line", lambda: self.printed().split("\n")[-2][:4], "OK: ")

    def end(self) -> None:
        """Kill what still runs of it: what entered the machine first, so that nothing follows."""
        self._process.kill()
        self._process.wait()
        cgroups.kill(self._cgroup)


@contextmanager
def scripts_run(cluster: FaultCluster, node: str, *program: str) -> Iterator[ScriptsRun]:
    """Start the scripts on a node, or another program beside them, for as long as the block."""
    machines = machines_cgroup(cluster.folder)
    if machines is None:
        raise MachineFailed(f"there are no machines in {cluster.folder}")
    machine = machines / node
    cgroup = machine / f"scripts-{secrets.token_hex(4)}"
    there = ["bash", "-c", _THERE, "bash", *(program or _SCRIPTS)]
    command = machine_command(machine, cgroup, there, user=None)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        run = ScriptsRun(process, cgroup, output)
        try:
            yield run
        finally:
            run.end()
