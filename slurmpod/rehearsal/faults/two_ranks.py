"""A miniature training of two processes, without PyTorch, as a target for faults of trainings.

Each process has a child that loads its data, a number for each step, and computes for a while. Both
exchange what was loaded, as in a collective, so that each waits for the other. It resumes from its
checkpoint, and ends when a file `end` exists. It runs on nodes, with their Python.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

SAVE_EVERY = 10
STEP_SECONDS = 0.2
END, CHECKPOINT = "end", "checkpoint"
PAUSE_SECONDS = 0.1


def main() -> None:
    """Load data, or train in the working folder."""
    if sys.argv[1:] == ["load"]:
        _load()
    rank, folder = int(os.environ["SLURM_PROCID"]), Path()
    peer = _peer(rank, folder / f"meet-{os.environ['SLURM_JOB_ID']}-{os.environ['SLURM_STEP_ID']}")
    loads = [sys.executable, __file__, "load"]
    checkpoint = folder / CHECKPOINT
    step = int(checkpoint.read_text()) if checkpoint.exists() else 0
    with subprocess.Popen(loads, stdout=subprocess.PIPE, text=True) as loader:
        assert loader.stdout is not None  # noqa: S101  # it is asked for
        while not _is_over(peer, rank, folder, loader.stdout.readline()):
            step += 1
            time.sleep(STEP_SECONDS)
            if rank == 0:
                sys.stdout.write(f"step {step} loss {1 / step:.6f}\n")
                sys.stdout.flush()
                _save(checkpoint, step)
        loader.kill()


def _load() -> None:
    """Print a number at intervals, forever."""
    while True:
        sys.stdout.write("1\n")
        sys.stdout.flush()
        time.sleep(STEP_SECONDS)


def _peer(rank: int, place: Path) -> TextIO:
    """Return the connection to the other process; the first one publishes its address."""
    if rank == 0:
        with socket.create_server(("", 0)) as server:
            partial = place.with_suffix(".partial")
            partial.write_text(f"{os.environ['SLURMD_NODENAME']} {server.getsockname()[1]}")
            partial.rename(place)
            connection, _ = server.accept()
    else:
        while not place.exists():
            time.sleep(PAUSE_SECONDS)
        host, port = place.read_text().split()
        connection = socket.create_connection((host, int(port)))
    return connection.makefile("rw")


def _is_over(peer: TextIO, rank: int, folder: Path, loaded: str) -> bool:
    """Exchange what was loaded; return whether the first process signals the end."""
    is_end = rank == 0 and (folder / END).exists()
    peer.write(f"{loaded.strip()} {is_end}\n")
    peer.flush()
    _, _, others = peer.readline().strip().partition(" ")
    return is_end or others == str(True)


def _save(checkpoint: Path, step: int) -> None:
    if step % SAVE_EVERY == 0:
        partial = checkpoint.with_suffix(".partial")
        partial.write_text(str(step))
        partial.rename(checkpoint)


if __name__ == "__main__":
    main()
