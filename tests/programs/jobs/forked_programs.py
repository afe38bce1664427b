"""Run programs of recipes with several processes on this machine, for torch_runs.py.

PyTorch takes seconds to import: so it is imported once, and every process is a fork of this one.
Standard input has the runs as JSON; one begins when the one before has ended. This file is run by
the Python that has PyTorch, which knows nothing of slurmpod.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

IMPORTED = (
    "torch.distributed.checkpoint.state_dict",
    "torch.distributed.fsdp",
    "torch.distributed.pipelining",
    "torch.distributed.tensor.parallel",
    "torch.utils.checkpoint",
)


def main() -> None:
    """Run everything that standard input names."""
    for module in IMPORTED:
        __import__(module)
    for run in json.load(sys.stdin):
        if run["removed"]:
            Path(run["folder"], run["removed"]).unlink()
        _run(run)


def _run(run: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    children = [_forked(run, rank, port) for rank in range(run["processes"])]
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    Path(run["folder"], f"{run['name']}.status").write_text(str(max(map(abs, statuses))))


def _forked(run: dict[str, Any], rank: int, port: int) -> int:
    if child := os.fork():
        return child
    os.chdir(run["folder"])
    log = os.open(f"{run['name']}-{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": run["processes"]}
    variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "SLURM_JOB_ID": run["name"]}
    os.environ |= {name: str(value) for name, value in variables.items()}
    sys.path.insert(0, run["folder"])
    sys.argv = [run["program"], *run["arguments"]]
    try:
        runpy.run_path(str(Path(run["folder"], run["program"])), run_name="__main__")
    except Exception:  # noqa: BLE001 - a child must not go on as its parent
        traceback.print_exc()
        os._exit(1)
    sys.exit()


if __name__ == "__main__":
    main()
