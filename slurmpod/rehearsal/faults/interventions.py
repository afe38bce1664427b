"""Interventions from outside a node: power, wires, disks, file systems, and its scripts."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TypedDict
from urllib.parse import urlsplit

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.enter import machine_command
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import machines_cgroup, machines_folder
from slurmpod.rehearsal.shell import CommandFailed

NOWHERE = "02:00:00:00:de:ad"
"""An unused hardware address: packets to it are lost without an error."""

_WIRE = """port=$(ip -oneline route show default | sed 's/.* dev \\([^ ]*\\).*/\\1/')"""
_LOSE = f"""{_WIRE}
ip route replace {{0}}/32 dev $port &&
ip neighbour replace {{0}} lladdr {{1}} dev $port nud permanent
"""
_FIND = f"{_WIRE}; ip route flush {{0}}/32 && ip neighbour flush to {{0}} dev $port nud permanent"


def cut_power(cluster: FaultCluster, node: str) -> None:
    """End a node as a power cut does: disconnect it, so that no peer is notified; then kill."""
    cluster.root(node).run(["sh", "-c", f'{_WIRE}; ip link delete "$port"'])
    machines = machines_cgroup(cluster.folder)
    if machines is not None:
        cgroups.kill(machines / node)


def power_off(cluster: FaultCluster, node: str) -> None:
    """End a node from inside at once: all its processes, and so their connections.

    Peers see these closed properly, unlike those of a node whose power is cut.
    """
    with contextlib.suppress(CommandFailed, MachineFailed):  # the session ends with the node
        cluster.root(node).run(["poweroff", "-ff"])


@contextmanager
def cut_network(cluster: FaultCluster, one: str, other: str) -> Iterator[None]:
    """Block all traffic between two nodes while the block runs.

    Both still reach all other nodes.
    """
    with ExitStack() as undo:
        for node, to in ((one, address(other)), (other, address(one))):
            undo.callback(find, cluster, node, to)
            lose(cluster, node, to)
        yield


def lose(cluster: FaultCluster, node: str, to: str) -> None:
    """Silently drop everything that a node sends to an address."""
    cluster.root(node).run(["sh", "-c", _LOSE.format(to, NOWHERE)])


def find(cluster: FaultCluster, node: str, to: str) -> None:
    """Stop dropping what a node sends to an address; nothing need have been dropped."""
    cluster.root(node).run(["sh", "-c", _FIND.format(to)])


def address(node: str) -> str:
    """Return the address in a node's name."""
    return node.removeprefix("ip-").replace("-", ".")


_UNCOVER = 'if mountpoint --quiet "$1"; then umount "$1"; fi'


def in_sandbox(folder: Path, *command: str) -> str:
    """Run a command in the mount namespace of a rehearsal's machines."""
    machines = machines_cgroup(folder)
    pid = cgroups.first_pid(machines) if machines else None
    if pid is None:
        raise MachineFailed(f"there are no machines in {folder}")
    result = subprocess.run(
        ["nsenter", f"--target={pid}", "--mount", "--", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise CommandFailed(f"{' '.join(command)}: {result.stderr}")
    return result.stdout.rstrip()


def file_systems(folder: Path) -> Path:
    """Return the path, in the sandbox, of the machines' shared file systems."""
    return machines_folder(folder) / "file-systems"


def disk(folder: Path, node: str) -> Path:
    """Return the path, in the sandbox, of a node's disk."""
    return machines_folder(folder) / node / "disk"


@contextmanager
def covered(folder: Path, place: Path, *, options: str = "mode=755") -> Iterator[None]:
    """Mount an empty in-memory file system over a folder of the sandbox while the block runs.

    Mount listings show it under the folder's own name.
    """
    try:
        mount = ("mount", "-t", "tmpfs", "-o", options, place.name, str(place))
        in_sandbox(folder, *mount)
        yield
    finally:
        in_sandbox(folder, "sh", "-c", _UNCOVER, "sh", str(place))


@contextmanager
def unmountable(folder: Path) -> Iterator[None]:
    """Block new mounts of Lustre file systems on all nodes; the server answers with an error."""
    servers = file_systems(folder) / "lustre"
    names = in_sandbox(folder, "ls", str(servers)).split()
    with ExitStack() as undo:
        for name in names:
            undo.enter_context(covered(folder, servers / name))
        yield


_THERE = """
newest=$(find /tmp -maxdepth 5 -name set_up_node.sh -printf '%T@ %h\\n' | sort -n | tail -n 1)
cd "${newest#* }" && exec "$@"
"""
_SCRIPTS = ("bash", "set_up_node.sh")


class ScriptsRun:
    """One background run of the scripts, in its own cgroup."""

    def __init__(self, process: subprocess.Popen[bytes], cgroup: Path, output: IO[bytes]) -> None:
        self._process = process
        self._cgroup = cgroup
        self._output = output

    def printed(self) -> str:
        """Return its output so far."""
        self._output.seek(0)
        return self._output.read().decode()

    def require_success(self, watch: Watch) -> None:
        """Wait until it ends, and check that it succeeded."""
        watch.until("the scripts end", lambda: self._process.poll() is not None, wanted=True)
        watch.until("their last line", lambda: self.printed().split("\n")[-2][:4], "OK: ")

    def end(self) -> None:
        """Kill its remaining processes, first the one that entered the machine: so none follow."""
        self._process.kill()
        self._process.wait()
        cgroups.kill(self._cgroup)


@contextmanager
def scripts_run(cluster: FaultCluster, node: str, *program: str) -> Iterator[ScriptsRun]:
    """Run the scripts on a node, or another program next to them, while the block runs."""
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


class ObjectLocation(TypedDict):
    """The location of an object in S3, as boto3 expects it."""

    Bucket: str
    Key: str


def place_of(cluster: FaultCluster, node: str, name: str) -> ObjectLocation:
    """Return the location of a file, existing or not, next to the scripts of a node's group."""
    uri = urlsplit(f"{cluster.group_of(node)['LifeCycleConfig']['SourceS3Uri']}/{name}")
    return {"Bucket": uri.netloc, "Key": uri.path.lstrip("/")}


@contextmanager
def entry_script(cluster: FaultCluster, node: str, text: str) -> Iterator[None]:
    """Replace the script that HyperPod starts on new nodes while the block runs."""
    lifecycle, s3 = cluster.group_of(node)["LifeCycleConfig"], cluster.aws.s3
    name = lifecycle.get("OnCreate") or lifecycle["OnInitComplete"]
    place = place_of(cluster, node, name)
    ours = s3.get_object(**place)["Body"].read()
    try:
        s3.put_object(**place, Body=text.encode())
        yield
    finally:
        s3.put_object(**place, Body=ours)
