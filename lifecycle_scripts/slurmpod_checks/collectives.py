"""GPU exchange over EFA: an all-reduce of nccl-tests in a pair or a ring of nodes.

AWS's images have its programs next to CUDA, Open MPI and the plugin that connects NCCL to EFA. A
problem here can be any node's fault, or the image's, so it is only reported. A pair's number is
compared with those of other pairs, as with TCP.

More than two nodes form rings (NCCL's user guide, NCCL_ALGO): every byte passes every node, so one
slow link slows all of them, and bus bandwidth is at most what one node's EFA carries, however many
nodes there are (nccl-tests, doc/PERFORMANCE.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from slurmpod_checks.settings import PAIRS, RINGS
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed, probe

ALL_REDUCE, RING_ALL_REDUCE = "pair all-reduce GB/s", "ring all-reduce GB/s"
PROGRAMS = "cuda*/efa/test-cuda-*/all_reduce_perf"
MPIRUN = ("/usr/bin/env", "PATH=/opt/slurm/bin:/usr/bin:/bin", "/opt/amazon/openmpi/bin/mpirun")
"""It starts its processes on the other node through srun."""

LIBRARIES = ("/opt/amazon/efa/lib", "/opt/amazon/openmpi/lib", "/opt/amazon/ofi-nccl/lib")
VARIABLES = ("NCCL_DEBUG=INFO", "FI_PROVIDER=efa", "NCCL_SOCKET_IFNAME=^docker,lo,veth")
SECONDS = 300.0
SIZE = "2G"
LONGEST = 120

AVERAGE = re.compile(r"^# Avg bus bandwidth\s*:\s*([0-9.e+-]+)", re.MULTILINE)
WRONG = re.compile(r"^# Out of bounds values\s*:\s*[0-9]+ FAILED", re.MULTILINE)
SOCKETS = re.compile(r"NET/Socket|Using network Socket")

Found = Iterator[str | float]
"""Rates, and messages about what is odd."""


def all_reduce(
    nodes: Sequence[str], bound: float, share: float
) -> Iterator[Finding | tuple[str, float]]:
    """Yield the bus bandwidth between nodes, and any finding against `bound` GB/s."""
    check, what = (PAIRS, ALL_REDUCE) if len(nodes) == 2 else (RINGS, RING_ALL_REDUCE)
    for found in _measured(nodes, bound, share):
        yield Finding(check, Verdict.REPORTED, found) if isinstance(found, str) else (what, found)


def _measured(nodes: Sequence[str], bound: float, share: float) -> Found:
    programs = sorted(Path("/usr/local").glob(PROGRAMS), key=_version)
    if not programs:
        yield "there is no all_reduce_perf: the exchange of GPUs was not measured"
        return
    gpus = len(list(Path("/dev").glob("nvidia[0-9]*")))
    try:
        said = probe(*_command(programs[-1], nodes, gpus), seconds=SECONDS)
    except ProbeFailed as error:
        if not AVERAGE.search(error.said):
            yield f"all_reduce_perf: {str(error)[:LONGEST]}"
            return
        said = error.said  # it exits with an error if sums are wrong
    yield from read(said, bound, share)


def read(said: str, bound: float, share: float) -> Found:
    """Yield the results of one message size from all_reduce_perf's output and NCCL's log."""
    found = AVERAGE.search(said)
    if not found or WRONG.search(said):
        last = said.strip().splitlines()[-1:]
        why = "its sums are wrong" if found else f"it says '{''.join(last)[:LONGEST]}'"
        yield f"all_reduce_perf: {why}"
        return
    rate = float(found[1])
    yield rate
    if SOCKETS.search(said):
        yield "NCCL exchanges over TCP, although the nodes have EFA"
    if rate < share * bound:
        yield f"all-reduce reaches {rate:g} of the {bound:g} GB/s that EFA allows"


def _command(program: Path, nodes: Sequence[str], gpus: int) -> tuple[str, ...]:
    """Return the command: one process per GPU, MPI's own messages over TCP, NCCL's over EFA."""
    path = ":".join((str(program.parents[2] / "lib"), *LIBRARIES))
    algorithm = ("NCCL_ALGO=Ring",) if len(nodes) > 2 else ()
    variables = (f"LD_LIBRARY_PATH={path}", *VARIABLES, *algorithm)
    processes = ("-n", str(gpus * len(nodes)), "-N", str(gpus), "--oversubscribe")
    network = ("--mca", "pml", "^cm,ucx", "--mca", "btl", "tcp,self")
    exported = tuple(word for each in variables for word in ("-x", each))
    size = ("-b", SIZE, "-e", SIZE, "-g", "1", "-c", "1", "-n", "20")
    root = ("--allow-run-as-root", "--bind-to", "none")
    return (*MPIRUN, *root, *processes, *network, *exported, str(program), *size)


def _version(program: Path) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", program.parent.name)]
