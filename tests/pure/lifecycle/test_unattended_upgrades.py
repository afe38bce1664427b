from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps.unattended_upgrades import (
    APT_TEXT,
    HELD,
    NEEDRESTART_TEXT,
    UnattendedUpgrades,
)
from tests.pure.lifecycle.fakes import node


@pytest.mark.parametrize(
    "package",
    [
        "linux-image-6.8.0-1057-aws",
        "linux-aws",
        "lustre-client-modules-6.8.0-1057-aws",
        "nvidia-driver-580-server",
        "libnvidia-compute-580",
        "cuda-drivers",
        "aws-neuronx-dkms",
        "munge",
        "containerd.io",
    ],
)
def test_what_has_to_fit_together_is_held(package: str) -> None:
    assert any(re.match(name, package) for name in HELD.split())


@pytest.mark.parametrize("package", ["openssl", "libc6", "openssh-server", "python3.10"])
def test_security_updates_of_all_else_come(package: str) -> None:
    assert not any(re.match(name, package) for name in HELD.split())


def test_apt_reads_the_list(tmp_path: Path) -> None:
    (tmp_path / "apt.conf").write_text(APT_TEXT)
    command = ["apt-config", f"--config-file={tmp_path}/apt.conf", "dump"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 'Unattended-Upgrade::Package-Blacklist:: "lustre-";' in shown
    assert 'Unattended-Upgrade::Automatic-Reboot "false";' in shown


@pytest.mark.parametrize(
    ("service", "is_kept"),
    [("slurmd.service", True), ("slurmctld.service", True), ("cron.service", False)],
)
def test_needrestart_leaves_slurm_alone(service: str, is_kept: bool) -> None:
    look = f'for (keys %{{$nrconf{{override_rc}}}}) {{ print "kept" if "{service}" =~ /$_/ }}'
    command = ["perl", "-e", NEEDRESTART_TEXT + look]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (ended.stdout == "kept") is is_kept


def test_a_second_run_finds_it_done() -> None:
    step = UnattendedUpgrades(node(Role.WORKER))
    assert not step.is_done()
    step.apply()
    assert step.is_done()
