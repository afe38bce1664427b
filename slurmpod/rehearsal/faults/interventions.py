"""Interventions from outside a node: power, wires, disks, file systems, and their scripts."""

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
"""A hardware address that nobody has: what is sent there is lost, and nobody is told."""

_WIRE = """port=$(ip -oneline route show default | sed 's/.* dev \\([^ ]*\\).*/\\1/')"""
_LOSE = f"""{_WIRE}
ip route replace {{0}}/32 dev $port &&
ip neighbour replace {{0}} lladdr {{1}} dev $port nud permanent
"""
_FIND = f"{_WIRE}; ip route flush {{0}}/32 && ip neighbour flush to {{0}} dev $port nud permanent"


def cut_power(cluster: FaultCluster, node: str) -> None:
    """End a node as a power cut does: first its wire, so that no peer is told; then everything."""
    cluster.root(node).run(["sh", "-c", f'{_WIRE}; ip link delete "$port"'])
    machines = machines_cgroup(cluster.folder)
    if machines is not None:
        cgroups.kill(machines / node)


def power_off(cluster: FaultCluster, node: str) -> None:
    """End a node from inside, at once: all its processes, and with them their connections.

    Peers see these closed in good order, unlike those of a node whose power is cut.
    """
    with contextlib.suppress(CommandFailed, MachineFailed):  # the session ends with the node
        cluster.root(node).run(["poweroff", "-ff"])


@contextmanager
def cut_network(cluster: FaultCluster, one: str, other: str) -> Iterator[None]:
    """Let nothing that two nodes send reach the other one, for as long as the block.

    Both reach everybody else.
    """
    with ExitStack() as undo:
        for node, to in ((one, address(other)), (other, address(one))):
            undo.callback(find, cluster, node, to)
            lose(cluster, node, to)
        yield


def lose(cluster: FaultCluster, node: str, to: str) -> None:
    """Lose everything that a node sends to an address, without a word."""
    cluster.root(node).run(["sh", "-c", _LOSE.format(to, NOWHERE)])


def find(cluster: FaultCluster, node: str, to: str) -> None:
    """Lose nothing more of what a node sends to an address; nothing need have been lost."""
    cluster.root(node).run(["sh", "-c", _FIND.format(to)])


def address(node: str) -> str:
    """Return the address that a node's name says."""
    return node.removeprefix("ip-").replace("-", ".")


_UNCOVER = 'if mountpoint --quiet "$1"; then umount "$1"; fi'


def in_sandbox(folder: Path, *command: str) -> str:
    """Run a command among the mounts in which all machines of a rehearsal live."""
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
    """Return where, in the sandbox, the shared file systems of all machines are mounted."""
    return machines_folder(folder) / "file-systems"


def disk(folder: Path, node: str) -> Path:
    """Return where, in the sandbox, a node's disk is mounted."""
    return machines_folder(folder) / node / "disk"


@contextmanager
def covered(folder: Path, place: Path, *, options: str = "mode=755") -> Iterator[None]:
    """Have an empty file system in memory on a folder of the sandbox, for as long as the block.

    Mounts show it under the folder's own name.
    """
    try:
        mount = ("mount", "-t", "tmpfs", "-o", options, place.name, str(place))
        in_sandbox(folder, *mount)
        yield
    finally:
        in_sandbox(folder, "sh", "-c", _UNCOVER, "sh", str(place))


@contextmanager
def unmountable(folder: Path) -> Iterator[None]:
    """Let no node mount a Lustre file system that it has not mounted yet; the server answers."""
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


class ObjectLocation(TypedDict):
    """The place of an object in S3, as boto3 takes it."""

    Bucket: str
    Key: str


def place_of(cluster: FaultCluster, node: str, name: str) -> ObjectLocation:
    """Return where a file is, or would be, beside the scripts of a node's group."""
    uri = urlsplit(f"{cluster.group_of(node)['LifeCycleConfig']['SourceS3Uri']}/{name}")
    return {"Bucket": uri.netloc, "Key": uri.path.lstrip("/")}


@contextmanager
def entry_script(cluster: FaultCluster, node: str, text: str) -> Iterator[None]:
    """Let what HyperPod starts on new nodes be another script, for as long as the block."""
    lifecycle, s3 = cluster.group_of(node)["LifeCycleConfig"], cluster.aws.s3
    name = lifecycle.get("OnCreate") or lifecycle["OnInitComplete"]
    place = place_of(cluster, node, name)
    ours = s3.get_object(**place)["Body"].read()
    try:
        s3.put_object(**place, Body=text.encode())
        yield
    finally:
        s3.put_object(**place, Body=ours)
