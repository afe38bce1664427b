"""`python3 -m slurmpod_checks`: one round of checks, started by a timer on the controller.

`--summary`, `--newest` and `--history NODE...` print JSON instead. `--now NODE...` requests a check
of these nodes as soon as they are idle.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from slurmpod_checks.harvest import Instance
from slurmpod_checks.records import FOLDER, NodeRecord, load, save
from slurmpod_checks.rounds import run_round
from slurmpod_checks.settings import ChecksSettings
from slurmpod_checks.slurm import Slurm, SlurmFailed
from slurmpod_checks.summary import history, newest, summary


def main(arguments: Sequence[str]) -> int:
    """Run the requested action and return the exit status."""
    options = _options(arguments)
    if (shown := _shown(options)) is not None:
        sys.stdout.write(f"{json.dumps(shown)}\n")
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _asked_for(options.now) if options.now else _round()


def _shown(options: argparse.Namespace) -> dict[str, Any] | None:
    if options.summary:
        return summary(load())
    if options.newest:
        return newest(load())
    return history(load(), options.history) if options.history else None


def _round() -> int:
    slurm, state = Slurm(), load()
    try:
        if not slurm.acts_here(socket.gethostname().partition(".")[0]):
            return 0
        settings = ChecksSettings.load()
        instances = _instances(Path(settings.resource_config))
        save(run_round(slurm, settings, state, instances, int(time.time())))
    except (SlurmFailed, OSError, ValueError, KeyError, TypeError) as error:
        save(replace(state, trouble=f"{type(error).__name__}: {error}"))
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _asked_for(names: Sequence[str]) -> int:
    state = load()
    wanted = {
        name: replace(state.nodes.get(name, NodeRecord("")), wanted_at=int(time.time()))
        for name in names
    }
    save(replace(state, nodes={**state.nodes, **wanted}))
    return 0


def _instances(path: Path) -> dict[str, Instance]:
    """Return the instances that HyperPod lists, by node name in Slurm."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {
        "ip-" + instance["CustomerIpAddress"].replace(".", "-"): Instance(
            group["Name"], instance.get("InstanceId") or ""
        )
        for group in data.get("InstanceGroups") or []
        for instance in group.get("Instances") or []
        if instance.get("CustomerIpAddress")
    }


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="slurmpod_checks", description="Check idle nodes.")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--summary", action="store_true", help="print counts and the nodes that need attention"
    )
    ways.add_argument("--newest", action="store_true", help="print the newest results of nodes")
    ways.add_argument("--history", nargs="+", metavar="NODE", help="print all results of nodes")
    ways.add_argument(
        "--now", nargs="+", metavar="NODE", help="check nodes as soon as they are idle"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
