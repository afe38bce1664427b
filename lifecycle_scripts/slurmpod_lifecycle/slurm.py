"""Slurm on HyperPod's image: its paths and the output of its commands."""

from __future__ import annotations

import re

from slurmpod_lifecycle import units
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.step import CommandFailed, NotYet

COMMANDS = "/opt/slurm/bin"
CONFIGURATION = "/opt/slurm/etc"
SLURM_CONF = f"{CONFIGURATION}/slurm.conf"
SLURMDBD_CONF = f"{CONFIGURATION}/slurmdbd.conf"
SLURMCTLD_PORT = 6817
SLURMDBD_PORT = 6819
USER = "slurm"


def command(machine: Machine, name: str, *arguments: str) -> str:
    """Run one of Slurm's commands and return its output; raises CommandFailed."""
    return machine.run(f"{COMMANDS}/{name}", *arguments)


def check_slurmctld(machine: Machine) -> None:
    """Raise NotYet unless the controller daemon answers."""
    fix = "run 'journalctl -u slurmctld' on the controller"
    try:
        answer = command(machine, "scontrol", "ping")
    except CommandFailed as error:
        raise NotYet(error.reason, fix) from None
    if " is UP" not in answer:
        why = units.last_error(machine, "slurmctld")
        raise NotYet(f"slurmctld does not answer: {answer.strip()}; last message: {why}", fix)


def values(text: str, keyword: str) -> list[str]:
    """Return the values of all lines `keyword=value` in a Slurm configuration file."""
    return re.findall(rf"^\s*{keyword}\s*=\s*(\S+)", text, re.IGNORECASE | re.MULTILINE)
