"""Measure how fast this node writes and reads files, at the same time as all others.

Python 3.10 and its standard library are enough.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slurmpod_checks.throughput import MIB, read, seconds_of, write

PATIENCE_SECONDS = 600.0
PAUSE_SECONDS = 0.05


def main(options: argparse.Namespace) -> None:
    """Measure each folder with each size of blocks, and write the times atomically."""
    node = os.environ["SLURMD_NODENAME"]
    rows = [
        row
        for place, folder in enumerate(options.folders)
        for row in measured(place, Path(folder), node, options)
    ]
    partial = options.results / f".{node}.partial"
    partial.write_text(json.dumps({"needed_mib_per_s": options.needed_mib_per_s, "rows": rows}))
    partial.rename(options.results / f"{node}.json")


def measured(
    place: int, folder: Path, node: str, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield the times of writing and reading some files, which are removed again.

    Nodes synchronise by the folder's place in the list: several may have the same name.
    """
    own = folder / f".io-bench-{os.environ['SLURM_JOB_ID']}-{node}"
    own.mkdir()
    files = [own / str(number) for number in range(options.files_per_node)]
    try:
        for block_kib in options.block_kib:
            for kind, work in (("write", write), ("read", read)):
                meet(options.results, f"{place}-{block_kib}-{kind}", node)
                seconds = seconds_of(work, files, block_kib * 1024, options.mib_per_file * MIB)
                size = len(files) * options.mib_per_file * MIB
                row = {"folder": str(folder), "kind": kind, "block_bytes": block_kib * 1024}
                yield {**row, "bytes": size, "seconds": seconds}
    finally:
        for file in files:
            file.unlink(missing_ok=True)
        own.rmdir()


def meet(results: Path, name: str, node: str) -> None:
    """Wait until all nodes are here, so that they load the file system together."""
    place = results / f"{name}.met"
    place.mkdir(parents=True, exist_ok=True)
    (place / node).touch()
    until = time.monotonic() + PATIENCE_SECONDS
    while len(list(place.iterdir())) < int(os.environ["SLURM_NNODES"]):
        if time.monotonic() > until:
            sys.exit(f"{node}: not all nodes have come to {name}")
        time.sleep(PAUSE_SECONDS)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--results", type=Path, required=True, help="folder on shared storage")
    parser.add_argument("--folders", nargs="+", required=True)
    parser.add_argument("--block-kib", type=int, nargs="+", required=True)
    parser.add_argument("--mib-per-file", type=int, required=True)
    parser.add_argument("--files-per-node", type=int, required=True)
    parser.add_argument("--needed-mib-per-s", type=float, required=True, help="by the whole job")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
