"""Measure how fast all processes exchange data, and compare it with the network's limit.

Writes collectives-JOB.json and collectives-JOB.svg. Exits with status 1 if nodes with EFA are much
slower than they could be, or exchange without EFA.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from bounds import bound, bus_bandwidth, network_fault
from line_chart import line_chart, size_text
from processes import join, run_to_the_end, say

warnings.filterwarnings("ignore", category=FutureWarning, module="torch.distributed")
# PyTorch 2.13 has new names for all-gather and reduce-scatter, which older versions do not know.

WARM_UPS = 3
BYTES_OF_ELEMENT = 4
Row = dict[str, Any]


def main(options: argparse.Namespace) -> None:
    """Measure every size of every collective, print it, and judge it."""
    is_first = os.environ["LOCAL_RANK"] == "0"  # of its node: the others have the same network
    log = _nccl_log() if is_first and options.device != "cpu" else None
    device = join(options.device)
    rows = []
    for operation in options.operations:
        for size in sizes(options):
            rows.append(_measured(operation, size, options, device))
            say(_line(rows[-1]))
    if dist.get_rank() == 0:
        _write(rows)
    if faults := list(_faults(rows, log, options)):
        sys.exit("\n".join(faults))


def sizes(options: argparse.Namespace) -> Iterator[int]:
    """Yield the sizes of messages, each four times the previous one."""
    size = options.least_kib * 1024
    while size <= options.most_kib * 1024:
        yield size
        size *= 4


def _measured(operation: str, size: int, options: argparse.Namespace, device: torch.device) -> Row:
    processes = dist.get_world_size()
    part = max(1, size // BYTES_OF_ELEMENT // processes)
    exchange = _exchange(operation, part, device)
    for _ in range(WARM_UPS):
        exchange()
    seconds = torch.tensor([_seconds(exchange, options.repeats, device)], dtype=torch.float64)
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX)  # the slowest process counts
    size = part * processes * BYTES_OF_ELEMENT
    nodes = processes // options.per_node
    return {
        "operation": operation,
        "bytes": size,
        "seconds": seconds.item(),
        "bus_gb_per_s": bus_bandwidth(operation, size, seconds.item(), processes),
        "bound_gb_per_s": bound(operation, options.efa_gigabits, nodes, options.per_node),
    }


def _exchange(operation: str, part: int, device: torch.device) -> Callable[[], object]:
    """Return a function for one exchange; every process has `part` elements for every other one."""
    whole = torch.zeros(part * dist.get_world_size(), device=device)
    piece = torch.zeros(part, device=device)
    other = torch.zeros_like(whole) if operation == "all-to-all" else whole
    exchanges: dict[str, Callable[[], object]] = {
        "all-reduce": lambda: dist.all_reduce(whole),
        "all-gather": lambda: dist.all_gather_into_tensor(whole, piece),
        "reduce-scatter": lambda: dist.reduce_scatter_tensor(piece, whole),
        "all-to-all": lambda: dist.all_to_all_single(other, whole),
    }
    return exchanges[operation]


def _seconds(exchange: Callable[[], object], repeats: int, device: torch.device) -> float:
    _wait(device)
    dist.barrier()
    start = time.perf_counter()
    for _ in range(repeats):
        exchange()
    _wait(device)
    return (time.perf_counter() - start) / repeats


def _wait(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize()


def _line(row: Row) -> str:
    limit = row["bound_gb_per_s"]
    beside = f"  bound {limit:8.2f}" if limit else ""
    size, bus = size_text(row["bytes"]), row["bus_gb_per_s"]
    return (
        f"{row['operation']:<15} {size:>10} {row['seconds'] * 1e6:12.1f} us {bus:9.3f} GB/s{beside}"
    )


def _write(rows: list[Row]) -> None:
    """Write the measurements, for programs and for people."""
    file = Path(f"collectives-{os.environ['SLURM_JOB_ID']}.json")
    file.write_text(json.dumps(rows, indent=2) + "\n")
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        lines.setdefault(row["operation"], []).append((row["bytes"], row["bus_gb_per_s"]))
    title = f"Collectives of {dist.get_world_size()} processes"
    file.with_suffix(".svg").write_text(line_chart(title, "bus bandwidth, GB/s", lines))


def _faults(rows: list[Row], log: Path | None, options: argparse.Namespace) -> Iterator[str]:
    """Yield the problems of nodes with EFA; nothing for other nodes."""
    if not options.efa_gigabits or not rows[0]["bound_gb_per_s"]:
        return
    if log and (fault := network_fault(log.read_text())):
        yield fault
    reduced = [row for row in rows if row["operation"] == "all-reduce"]
    least = options.least_share_of_bound
    if reduced and reduced[-1]["bus_gb_per_s"] < least * reduced[-1]["bound_gb_per_s"]:
        yield f"all-reduce reaches less than {least:.0%} of its bound:\n{_line(reduced[-1])}"


def _nccl_log() -> Path:
    """Let NCCL log its choice of network to a file; return that of this process."""
    log = Path(f"nccl-{os.environ['SLURM_JOB_ID']}-{os.environ['RANK']}.log")
    os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,NET", NCCL_DEBUG_FILE=str(log))
    return log


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--device", required=True, help="kind of device: cpu, cuda or neuron")
    parser.add_argument("--per-node", type=int, required=True, help="processes of a node")
    parser.add_argument("--efa-gigabits", type=float, default=0, help="Gb/s of a node's EFA")
    parser.add_argument("--operations", nargs="+", required=True)
    parser.add_argument("--least-kib", type=int, required=True)
    parser.add_argument("--most-kib", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--least-share-of-bound", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    run_to_the_end(lambda: main(chosen))
