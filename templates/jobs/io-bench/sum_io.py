"""Combine the nodes' measurements into a table, `io.json` and `io.svg`; report what is too slow.

Exits with status 1 if reading is slower than needed, or a node has not measured everything.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from line_chart import line_chart, size_text

MIB = 1024 * 1024
Row = dict[str, Any]


def main(options: argparse.Namespace) -> int:
    """Print the table and the problems; return the exit status."""
    nodes = options.nodes.split(",")
    files = {node: options.results / f"{node}.json" for node in nodes}
    silent = [node for node, file in files.items() if not file.exists()]
    if silent:
        print(f"not measured on {', '.join(silent)}: see what srun says of it above")
        return 1
    found = [json.loads(file.read_text()) for file in files.values()]
    rows = list(totals([each["rows"] for each in found]))
    needed = found[0]["needed_mib_per_s"]
    for row in rows:
        print(_line(row, len(nodes)))
    data = {"needed_mib_per_s": needed, "nodes": len(nodes), "rows": rows}
    (options.results / "io.json").write_text(json.dumps(data, indent=2) + "\n")
    (options.results / "io.svg").write_text(_picture(rows, len(nodes)))
    slow = list(too_slow(rows, needed))
    print("\n".join(slow) if slow else f"reading is as fast as needed ({needed:g} MiB/s)")
    return 1 if slow else 0


def totals(found: Sequence[Sequence[Row]]) -> Iterator[Row]:
    """Yield the throughput of all nodes together, in the time of the slowest."""
    for same in zip(*found, strict=True):
        seconds = max(row["seconds"] for row in same)
        rate = sum(row["bytes"] for row in same) / seconds / MIB
        yield {**same[0], "bytes": sum(row["bytes"] for row in same), "mib_per_s": rate} | {
            "seconds": seconds
        }


def too_slow(rows: Sequence[Row], needed: float) -> Iterator[str]:
    """Yield the folders that are read too slowly even with the best size of blocks."""
    best: dict[str, float] = defaultdict(float)
    for row in rows:
        if row["kind"] == "read":
            best[row["folder"]] = max(best[row["folder"]], row["mib_per_s"])
    for folder, rate in best.items():
        if rate < needed:
            yield f"{folder} is too slow: it is read with {rate:.0f} MiB/s, needed are {needed:g}"


def _line(row: Row, nodes: int) -> str:
    block, rate = size_text(row["block_bytes"]), row["mib_per_s"]
    what = f"{row['folder']:<24} {row['kind']:<5} {block:>8}"
    return f"{what} {rate:10.1f} MiB/s, of a node {rate / nodes:10.1f} MiB/s"


def _picture(rows: Sequence[Row], nodes: int) -> str:
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        name = f"{row['kind']} {row['folder']}"
        lines.setdefault(name, []).append((row["block_bytes"], row["mib_per_s"]))
    return line_chart(f"Files of {nodes} nodes", "MiB/s of all nodes, by size of blocks", lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--results", type=Path, required=True, help="folder with the results")
    parser.add_argument("--nodes", required=True, help="comma-separated names of all nodes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_options()))
