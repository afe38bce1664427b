"""The process that owns everything of one rehearsal: embedded AWS, platform and machines.

It is started by `launch` and lives until the command that started it ends, unless that command
says to keep it. However it ends, also by SIGKILL, the kernel takes everything else away with it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.cloud_only import CloudOnlyPlatform
from slurmpod.rehearsal.cloud.isolation import isolated_environment, process_environment
from slurmpod.rehearsal.cloud.loopback import PortInUse
from slurmpod.rehearsal.cloud.moto_setup import WrongMotoVersion
from slurmpod.rehearsal.cloud.server import EmbeddedAws
from slurmpod.rehearsal.embedded_gateway import embedded_gateway
from slurmpod.rehearsal.journal import Journal
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.platform.hyperpod import HyperPod
from slurmpod.rehearsal.state import KEEP, State, read_request, write_state

if TYPE_CHECKING:
    from slurmpod.aws.gateway import Gateway
    from slurmpod.rehearsal.cloud.platform import ClusterPlatform
    from slurmpod.rehearsal.state import Request


def main() -> None:
    """Run the rehearsal whose folder is the only argument, until it is told to end."""
    os.umask(0o022)  # what is made here becomes the roots and file systems of nodes
    folder = Path(sys.argv[1])
    request = read_request(folder)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with contextlib.ExitStack() as stack:
        try:
            state = _start(stack, folder, request)
        except (PortInUse, MachineFailed, WrongMotoVersion, OSError) as error:
            sys.exit(str(error))  # into the log, whose end the starting command shows
        write_state(folder, state)
        threading.Thread(target=_watch_starter, args=(folder, state, ended), daemon=True).start()
        ended.wait(request.lifetime_seconds)
    shutil.rmtree(folder, ignore_errors=True)  # our starter does it, too, if it still lives
    os._exit(0)  # threads of an unfinished deployment must not hold us


def _start(stack: contextlib.ExitStack, folder: Path, request: Request) -> State:
    aws = stack.enter_context(
        EmbeddedAws(account=request.account, region=request.region, port=request.port)
    )
    isolated = isolated_environment(os.environ, aws.environment())
    stack.enter_context(process_environment(isolated))  # before anything looks at AWS settings
    gateway = embedded_gateway(aws.endpoint, request)
    aws.start(_platform(stack, folder, request, gateway))
    return State(os.getpid(), aws.endpoint, kept=False)


def _platform(
    stack: contextlib.ExitStack, folder: Path, request: Request, gateway: Gateway
) -> ClusterPlatform:
    if request.cloud_only:
        return CloudOnlyPlatform()
    subnet = IPv4Network(request.subnet_cidr)
    machines = stack.enter_context(
        Machines.start(
            folder,
            image=Path(request.image),
            subnet=subnet,
            gateway=subnet[1],
            file_systems={},
        )
    )
    return HyperPod(machines=machines, gateway=gateway, journal=Journal(folder), folder=folder)


def _watch_starter(folder: Path, state: State, ended: threading.Event) -> None:
    """End with the command that started us, unless it says to keep what runs."""
    if sys.stdin.buffer.readline() == KEEP:
        write_state(folder, replace(state, kept=True))
        return
    ended.set()


if __name__ == "__main__":
    main()
