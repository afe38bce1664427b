"""Starts the Slurm daemon of this node: slurmctld on the controller, slurmd on all others.

Its arguments are the paths of resource_config.json and provisioning_parameters.json.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SLURM_CONF = Path("/opt/slurm/etc/slurm.conf")
SLURMD_DROP_IN = Path("/etc/systemd/system/slurmd.service.d/own-scripts.conf")
SLURMD_OPTIONS = """\
[Unit]
StartLimitIntervalSec=0

[Service]
Environment=SLURMD_OPTIONS=--conf-server={servers}
Restart=on-failure
RestartSec=5
"""
"""Images have the file with slurmd's options in different places. It ends on a node that slurm.conf
does not name yet."""

TIMEOUT_SECONDS = 1200


def main(resource_config: str, provisioning_parameters: str) -> None:
    """Start this node's daemon, now and at every boot."""
    addresses = addresses_by_group(Path(resource_config))
    controller = json.loads(Path(provisioning_parameters).read_text())["controller_group"]
    if own_addresses() & set(addresses[controller]):
        wait_for("slurm.conf", slurm_is_configured)
        wait_for("slurmctld", lambda: starts("slurmctld"))
        return
    servers = ",".join(f"{address}:6817" for address in addresses[controller])
    SLURMD_DROP_IN.parent.mkdir(parents=True, exist_ok=True)
    SLURMD_DROP_IN.write_text(SLURMD_OPTIONS.format(servers=servers))
    run("systemctl", "daemon-reload")
    wait_for("slurmd, which needs the controller", lambda: starts("slurmd"))


def addresses_by_group(resource_config: Path) -> dict[str, list[str]]:
    """Return the addresses of the cluster's instances; a group can be without any."""
    groups = json.loads(resource_config.read_text())["InstanceGroups"]
    return {
        group["Name"]: [each["CustomerIpAddress"] for each in group["Instances"] or []]
        for group in groups
    }


def own_addresses() -> set[str]:
    """Return this node's addresses."""
    return set(run("hostname", "--all-ip-addresses").stdout.split())


def slurm_is_configured() -> bool:
    """Return whether HyperPod has written slurm.conf; nodes may follow after this script."""
    return SLURM_CONF.exists() and "\nSlurmctldHost=" in SLURM_CONF.read_text()


def starts(unit: str) -> bool:
    """Start a service now and at every boot; tell whether it runs."""
    run("systemctl", "reset-failed", unit)
    return run("systemctl", "enable", "--quiet", "--now", unit).returncode == 0


def wait_for(what: str, is_there: Callable[[], bool]) -> None:
    """Ask until it is there; ends with an error, which HyperPod shows, when that takes too long."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not is_there():
        if time.monotonic() > deadline:
            sys.exit(f"waited {TIMEOUT_SECONDS} s for {what}")
        time.sleep(2)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command and return how it ended."""
    return subprocess.run(command, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
