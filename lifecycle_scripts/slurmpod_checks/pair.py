"""The TCP throughput of two nodes: the job's first node listens, the other one connects.

Several streams in each direction, one direction at a time, as EC2 limits a single stream to a part
of the network.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

from slurmpod_checks.carried import text_of

SRUN = "/opt/slurm/bin/srun"
STREAMS = 4
SECONDS = 3.0
PATIENCE_SECONDS = 60.0
BLOCK = bytes(1024 * 1024)
MIB = 1024 * 1024
PAIR = "pair MiB/s"


def pair_numbers(nodes: Sequence[str]) -> dict[str, float]:
    """Measure both directions between the job's two nodes; the slower one counts."""
    here = os.environ["SLURMD_NODENAME"]
    (other,) = (name for name in nodes if name != here)
    with socket.create_server((address_of(here), 0)) as listening:
        listening.settimeout(PATIENCE_SECONDS)
        port = listening.getsockname()[1]
        call = ("-c", text_of("pair"), address_of(here), str(port))
        step = ("--nodes=1", "--ntasks=1", f"--nodelist={other}", "--overlap")
        with subprocess.Popen([SRUN, *step, sys.executable, *call]) as peer:
            try:
                ends = [listening.accept()[0] for _ in range(STREAMS)]
                rates = _together(receive, ends), _together(send, ends)
            finally:
                peer.terminate()
    return {PAIR: min(rates)}


def start() -> None:
    """Act as the other node: send, then receive."""
    address, port = sys.argv[1], int(sys.argv[2])
    ends = [socket.create_connection((address, port), PATIENCE_SECONDS) for _ in range(STREAMS)]
    _together(send, ends)
    _together(receive, ends)


def send(end: socket.socket) -> float:
    """Send for some seconds, then signal the end; return the bytes that the other side received.

    Its answer is read exactly to its end: the data of the next direction may follow directly.
    """
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        end.sendall(BLOCK)
    end.sendall(b"\1")
    taken = b""
    while not taken.endswith(b"\n"):
        taken += end.recv(1) or b"0\n"
    return float(taken)


def receive(end: socket.socket) -> float:
    """Receive until the other side signals the end; return the MiB/s."""
    count, start = 0, time.monotonic()
    buffer = bytearray(MIB)
    while taken := end.recv_into(buffer):
        count += taken
        if buffer[taken - 1] == 1:
            break
    rate = count / MIB / (time.monotonic() - start)
    end.sendall(f"{rate}\n".encode())
    return rate


def address_of(node: str) -> str:
    """Return the address of a node from its name, where HyperPod puts it."""
    found = re.fullmatch(r"ip-(\d+)-(\d+)-(\d+)-(\d+)", node)
    return ".".join(found.groups()) if found else node


def _together(work: Callable[[socket.socket], float], ends: Sequence[socket.socket]) -> float:
    """Run the function on all streams at once; return the sum of their MiB/s."""
    rates: list[float] = []
    for end in ends:
        end.settimeout(PATIENCE_SECONDS)
    threads = [threading.Thread(target=lambda each=end: rates.append(work(each))) for end in ends]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(rates) < len(ends):
        raise OSError("a stream between the nodes broke")
    return sum(rates)
