"""The latency of EFA between two nodes: fi_pingpong of libfabric.

The EFA installer includes the program (AWS PCS user guide, "Test EFA"). AWS publishes no numbers
for it. The job's first node runs a server for each of its interfaces. The other one, in this
module's `start`, is the client of one after the other, as two at once would slow each other down.
The worst interface counts. The first size includes the handshake of both sides, so the latency is
that of the fastest of the small sizes.

libfabric 2 also offers the same interfaces as a second fabric, `efa-direct`, with which the program
was seen to hang. Where the fabric can be chosen, `efa` is.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from slurmpod_checks.carried import text_of
from slurmpod_checks.pair import SRUN, address_of
from slurmpod_checks.settings import PAIRS
from slurmpod_health.efa import efa_devices
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed, ProbeMissing, probe

PROGRAM = "/opt/amazon/efa/bin/fi_pingpong"
EFA_LATENCY, EFA_RATE = "efa message us", "efa MB/s"
OPTIONS = ("-p", "efa", "-e", "rdm", "-I", "1000")
SECONDS_OF_ONE = 20.0
PATIENCE_SECONDS = 15.0
"""How long a client waits for its server to start listening."""

SECONDS = 300.0
LONGEST = 120
ROW = re.compile(
    r"^(?P<size>\d+[kmg]?)\s+\S+\s+\S+\s+\S+\s+[\d.]+s\s+(?P<rate>[\d.]+)\s+(?P<us>[\d.]+)\s+[\d.]+$",
    re.MULTILINE,
)
LARGEST = "1m"
FABRIC = re.compile(r"^\s*-f <", re.MULTILINE)
REFUSED = "failed to connect"

Found = Iterator[Finding | tuple[str, float]]


def efa_exchange(nodes: Sequence[str]) -> Found:
    """Yield latency and rate of the worst interface between the two nodes."""
    devices = efa_devices()
    if not devices:
        return
    here = os.environ["SLURMD_NODENAME"]
    (other,) = (name for name in nodes if name != here)
    try:
        said = _exchanged(devices, address_of(here), other)
    except ProbeMissing:
        yield _told("there is no fi_pingpong: the latency of EFA was not measured")
    except ProbeFailed as error:
        yield _told(f"fi_pingpong: {str(error)[:LONGEST]}")
    else:
        yield from read(said)


def read(said: Sequence[tuple[str, str]]) -> Found:
    """Yield the worst numbers over all interfaces, and a finding for each interface without any."""
    tables = {device: list(ROW.finditer(text)) for device, text in said}
    for device, text in said:
        if not any(row["size"] == LARGEST for row in tables[device]):
            last = "".join(text.strip().splitlines()[-1:]) or "nothing"
            yield _told(f"fi_pingpong over {device} says '{last[:LONGEST]}'")
            return
    if tables:
        yield EFA_LATENCY, max(min(float(row["us"]) for row in rows) for rows in tables.values())
        yield EFA_RATE, min(float(rows[-1]["rate"]) for rows in tables.values())


def start() -> None:
    """Act as the other node: run the client of each interface and print its output."""
    address, *ports = sys.argv[1:]
    found = [
        (device, _client(device, address, port))
        for device, port in zip(efa_devices(), ports, strict=False)
    ]
    sys.stdout.write(json.dumps(found))


def _exchanged(devices: Sequence[str], address: str, other: str) -> list[tuple[str, str]]:
    """Return the clients' output; raises ProbeFailed."""
    ports = _free_ports(len(devices))
    fabric = _fabric()
    with ExitStack() as servers:
        for device, port in zip(devices, ports, strict=True):
            command = (PROGRAM, *OPTIONS, *fabric, "-d", f"{device}-rdm", "-B", port)
            server = servers.enter_context(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
            servers.callback(server.kill)
        step = ("--nodes=1", "--ntasks=1", f"--nodelist={other}", "--overlap", "--quiet")
        call = (sys.executable, "-c", text_of("latency"), address, *ports)
        said = probe(SRUN, *step, *call, seconds=SECONDS)
    try:
        return [(device, text) for device, text in json.loads(said)]
    except ValueError:
        raise ProbeFailed("the other node said nothing") from None


def _client(device: str, address: str, port: str) -> str:
    """Return a client's output, once its server listens."""
    until = time.monotonic() + PATIENCE_SECONDS
    command = (PROGRAM, *OPTIONS, *_fabric(), "-d", f"{device}-rdm", "-P", port, address)
    while True:
        try:
            return probe(*command, seconds=SECONDS_OF_ONE)
        except ProbeFailed as error:
            if REFUSED not in error.said or time.monotonic() > until:
                return error.said or str(error)
        time.sleep(0.5)


def _fabric() -> tuple[str, ...]:
    """Return the option that selects the fabric, if this version has it; raises ProbeMissing."""
    try:
        usage = probe(PROGRAM, "-h", seconds=SECONDS_OF_ONE)
    except ProbeMissing:
        raise
    except ProbeFailed as error:
        usage = error.said  # it exits with an error when asked for its usage
    return ("-f", "efa") if FABRIC.search(usage) else ()


def _free_ports(count: int) -> list[str]:
    with ExitStack() as held:
        ends = [held.enter_context(socket.socket()) for _ in range(count)]
        for end in ends:
            end.bind(("", 0))
        return [str(end.getsockname()[1]) for end in ends]


def _told(detail: str) -> Finding:
    return Finding(PAIRS, Verdict.REPORTED, detail)
