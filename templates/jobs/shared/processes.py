"""Functions for the processes of a PyTorch job: how they connect, print, and exit."""

from __future__ import annotations

import atexit
import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import torch
import torch.distributed as dist


def join(kind: str) -> torch.device:
    """Connect to the other processes; return the device of this one."""
    _tell_stacks()
    if kind == "cpu":
        dist.init_process_group("gloo")
        return torch.device("cpu")
    found = torch.accelerator.current_accelerator()
    if found is None or found.type != kind:
        sys.exit(f"PyTorch {torch.__version__} finds no device of the kind '{kind}' here")
    device = torch.device(kind, int(os.environ["LOCAL_RANK"]))
    torch.accelerator.set_device_index(device.index)
    backend = dist.get_default_backend_for_device(kind)
    dist.init_process_group(f"cpu:gloo,{kind}:{backend}", device_id=device)
    return device


def _tell_stacks() -> None:
    """Let the job's watcher see where this process is: SIGUSR2 writes its stacks to a file."""
    if folder := os.environ.get("SLURMPOD_STACKS"):
        file = Path(folder, f"{os.environ['RANK']}.txt")
        faulthandler.register(signal.SIGUSR2, file.open("a"))


def say(text: str) -> None:
    """Print a line in the first process only."""
    if dist.get_rank() == 0:
        print(text, flush=True)


def run_to_the_end(work: Callable[[], None]) -> NoReturn:
    """Run the work of this process, and exit together; on any failure, at once with status 1.

    PyTorch holds on to process groups, so gloo's threads outlive them. Such a thread aborts the
    process if it needs the interpreter while that shuts down (pytorch/pytorch#190489). So the
    process exits before that, once Python threads and `atexit` functions of the work have ended.
    """
    atexit.register(_end_with_success)  # functions that the work registers later run earlier
    try:
        work()
        dist.barrier()  # an exit may abort a process that is still busy with its peers
        dist.destroy_process_group()
    except SystemExit as refusal:
        _end_at_once(str(refusal))
    except BaseException:  # noqa: BLE001 - on any error the process ends, its peers are notified
        _end_at_once(traceback.format_exc())
    sys.exit()


def _end_with_success() -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _end_at_once(reason: str) -> NoReturn:
    """Exit without PyTorch's own shutdown, which may abort a process whose peers are gone."""
    sys.stdout.flush()
    print(reason, file=sys.stderr, flush=True)
    os._exit(1)
