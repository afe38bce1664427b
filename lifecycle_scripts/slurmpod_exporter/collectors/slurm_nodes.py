"""Slurm's nodes, as `sinfo` shows them to the controller."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.exposition import Sample
from slurmpod_exporter.host import SLURM_COMMANDS, Host

FIELDS = ("NodeHost", "PartitionName", "StateLong", "CPUsState", "Gres", "GresUsed")
CPU_USES = ("allocated", "idle", "other")
"""The first three of `CPUsState`, which is allocated/idle/other/total (sinfo(1))."""

MARKS = {"*": "not_responding", "~": "powered_off", "%": "powered_off", "#": "powering_up"}
"""What a character after a state adds to it (sinfo(1), NODE STATE CODES); others change little."""

GPUS = re.compile(r"(?:^|,)gpu(?::[^,:(]+)?:([0-9]+)")


class _Node(NamedTuple):
    name: str
    partition: str
    state: str
    cpus: str
    gpus: int
    gpus_allocated: int


def _collect(host: Host) -> Iterator[Sample]:
    shown = ",".join(f"{field}:|" for field in FIELDS)
    lines = host.run(f"{SLURM_COMMANDS}/sinfo", "--noheader", "--Node", f"--Format={shown}")
    rows = [_node(line) for line in lines.splitlines() if line.strip()]
    for (partition, state), count in sorted(Counter((r.partition, r.state) for r in rows).items()):
        labels = {"partition": partition, "state": state}
        yield Sample("slurmpod_slurm_partition_nodes", labels, count)
    for row in {row.name: row for row in rows}.values():  # a node is in several partitions
        yield from _samples(row)


def _node(line: str) -> _Node:
    name, partition, state, cpus, gres, used = (word.strip() for word in line.split("|")[:6])
    return _Node(name, partition.rstrip("*"), plain_state(state), cpus, _gpus(gres), _gpus(used))


def _samples(node: _Node) -> Iterator[Sample]:
    of_node = {"node": node.name}
    yield Sample("slurmpod_slurm_node_state", {**of_node, "state": node.state}, 1)
    for use, count in zip(CPU_USES, node.cpus.split("/"), strict=False):
        yield Sample("slurmpod_slurm_node_cpus", {**of_node, "use": use}, float(count))
    if node.gpus:
        yield Sample("slurmpod_slurm_node_gpus", {**of_node, "use": "all"}, node.gpus)
        allocated = {**of_node, "use": "allocated"}
        yield Sample("slurmpod_slurm_node_gpus", allocated, node.gpus_allocated)


def plain_state(shown: str) -> str:
    """Return a state without marks: of a down node that it is down, else what the mark says."""
    state = shown.rstrip("".join({*MARKS, "@", "^", "!", "$", "-"}))
    mark = MARKS.get(shown[len(state) : len(state) + 1], "")
    return mark if mark and state not in {"down", "drained", "draining"} else state


def _gpus(gres: str) -> int:
    """Add up the GPUs of `gpu:8(S:0-1)`, `gpu:h100:8(IDX:0-7)` and their like."""
    return sum(map(int, GPUS.findall(re.sub(r"\([^)]*\)", "", gres))))


SLURM_NODES = Collector("slurm_nodes", lambda host: host.is_controller, _collect)
