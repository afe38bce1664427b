"""What the processes of a PyTorch job have in common: how they meet, speak, and end."""

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
    """Meet the other processes; return the device of this one."""
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
    """Let the watcher of the job see where this process is: SIGUSR2 writes its stacks to a file."""
    if folder := os.environ.get("SLURMPOD_STACKS"):
        file = Path(folder, f"{os.environ['RANK']}.txt")
        faulthandler.register(signal.SIGUSR2, file.open("a"))


def say(text: str) -> None:
    """Print a line in the first process alone."""
    if dist.get_rank() == 0:
        print(text, flush=True)


def run_to_the_end(work: Callable[[], None]) -> NoReturn:
    """Do the work of this process, and leave together; if anything fails, at once with status 1.

    PyTorch holds on to process groups, and so threads of gloo outlive them. Such a thread aborts
    the process if it needs the interpreter while that shuts down (pytorch/pytorch#190489). So the
    process exits before, when Python threads and `atexit` functions of the work have ended.
    """
    atexit.register(_end_with_success)  # functions that the work registers later run earlier
    try:
        work()
        dist.barrier()  # an end may abort a process that is still busy with its peers
        dist.destroy_process_group()
    except SystemExit as refusal:
        _end_at_once(str(refusal))
    except BaseException:  # noqa: BLE001 - whatever it is, the process ends, and its peers are told
        _end_at_once(traceback.format_exc())
    sys.exit()


def _end_with_success() -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _end_at_once(reason: str) -> NoReturn:
    """End without PyTorch's own end, which may abort a process whose peers are gone."""
    sys.stdout.flush()
    print(reason, file=sys.stderr, flush=True)
    os._exit(1)
