"""Checks of idle nodes as jobs of a real Slurm: only nodes at fault are drained.

A file system in memory replaces the disks of a node, and programs that send after a pause simulate
a bad cable: that is slow by so much on any machine, whatever its load.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.operations.idle_checks import read_newest
from slurmpod.rehearsal.shell import Shell
from slurmpod_exporter.collectors import idle_checks
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import HyperPodLab, group, hostname, succeeds
from tests.nodes.test_lifecycle_bundles import by_api, upload

ENVIRONMENT = """
edition: 2026
name: checked
account: "123456789012"
region: us-west-2
network: {zone: us-west-2a}
storage: {scratch: {mount_path: /scratch}}
checks: {kinds: [scratch, pairs], least_percent: 1}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: disks, role: worker, instance_type: ml.i3en.24xlarge, count: 3, partition: disks}
"""
VOLUME = r"""
mkdir -p /opt/dlami/nvme
mountpoint --quiet /opt/dlami/nvme || mount -t tmpfs -o size=256m volume /opt/dlami/nvme
"""
"""The Deep Learning AMIs' setup of a node's disks."""

ROUND = ["python3", "-B", "/usr/local/lib/slurmpod-checks/round.py"]
PAUSES = """\
import os, socket, time; \
pausing = lambda end, data, sleep=time.sleep, plain=socket.socket.sendall: \
(sleep(4), plain(end, data)); \
"SLURM_JOB_ID" in os.environ and setattr(socket.socket, "sendall", pausing)
"""
"""One MiB in 8 s on each of four streams, which is less than one percent of the other nodes'
rates."""

HOOK = "$(python3 -c 'import site; print(site.getsitepackages()[0])')/bad_cable.pth"
"""Python runs this file whenever it starts."""

STOP = ["pkill", "-STOP", "-f", "[s]lurm_script"]


class Cluster:
    """A controller whose timer runs the rounds, and three workers."""

    def __init__(self, lab: HyperPodLab) -> None:
        self.head = lab.shell("checked", "head", user="root")
        self.names = sorted(hostname(node) for node in lab.nodes("checked", "disks"))
        self.workers = {name: Shell(lab.folder, name, "root") for name in self.names}

    def run(self, command: str) -> str:
        return self.head.run(["sh", "-c", f"PATH=/opt/slurm/bin:$PATH; {command}"]).strip()

    def summary(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.head.run([*ROUND, "--summary"]))
        return said

    def history(self, name: str) -> list[dict[str, Any]]:
        found: dict[str, list[dict[str, Any]]] = json.loads(
            self.head.run([*ROUND, "--history", name])
        )
        return found[name]

    def state(self, name: str) -> str:
        return self.run(f"sinfo --noheader --nodes {name} --format '%T|%E' | head -n 1")

    def check_all(self) -> None:
        """Have all nodes checked again, alone and in pairs, and wait for it."""
        self.run("sleep 1")  # results of the same second count as older ones
        before = {name: len(self.history(name)) for name in self.names}
        self.head.run([*ROUND, "--now", *self.names])
        for name in self.names:
            self.wait_for(name, before[name])

    def wait_for(self, name: str, known: int) -> None:
        wait_until(lambda: self.is_checked(name, known), f"checks of {name}", seconds=120)

    def is_checked(self, name: str, known: int) -> bool:
        """Return whether the node has newer results, alone and in a pair, or is out of service."""
        self.round()
        new = self.history(name)[known:]
        return len({bool(each["partner"]) for each in new}) == 2 or "slurmpod" in self.state(name)

    def round(self) -> None:
        self.head.run(ROUND)

    def is_drained(self, name: str) -> bool:
        """Return whether one more round finds a node out of service."""
        self.round()
        return "slurmpod" in self.state(name)

    def resume(self, name: str) -> None:
        self.run(f"scontrol update nodename={name} state=resume")


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        common = by_api(lab, upload(lab, ENVIRONMENT, on_init_complete=VOLUME))
        workers = group("disks", "Compute", 3, **common, InstanceType="ml.i3en.24xlarge")
        lab.create_continuously("checked", [group("head", "Controller", **common), workers])
        yield Cluster(lab)


def test_healthy_nodes_are_checked_and_stay_in_service(cluster: Cluster) -> None:
    wait_until(
        lambda: all(cluster.is_checked(each, 0) for each in cluster.names), "checks", seconds=120
    )
    assert all(cluster.state(name) in {"idle|none", "allocated|none"} for name in cluster.names)
    summary = cluster.summary()
    assert (summary["checked"], summary["bad"], summary["trouble"]) == (3, [], "")
    numbers = {what for result in cluster.history(cluster.names[0]) for what in result["numbers"]}
    wanted = {"scratch write MiB/s", "scratch read MiB/s", "pair MiB/s"}
    assert numbers == wanted


def test_the_exporter_may_read_what_the_checks_write(cluster: Cluster) -> None:
    """It has no privileges, and would report nothing about checks."""
    for path in (idle_checks.SETTINGS, idle_checks.RESULTS):
        cluster.head.run(["runuser", "-u", "nobody", "--", "test", "-r", path])


def test_a_job_of_the_users_gets_the_node_of_a_check(cluster: Cluster) -> None:
    name = cluster.names[0]
    cluster.run("sleep 1")
    cluster.head.run([*ROUND, "--now", name])
    wait_until(lambda: succeeds(cluster.workers[name], *STOP), "a check that takes its time")
    wait = "--partition=cpu --exclusive --nodelist"
    assert cluster.run(f"srun {wait} {name} hostname") == name
    states = cluster.run("squeue --noheader --states=all --name=slurmpod-check --format=%T")
    assert "CANCELLED" in states.split()


def test_a_disk_that_nobody_can_write_takes_its_node_out_of_service(cluster: Cluster) -> None:
    bad, *others = cluster.names
    cluster.workers[bad].run(["mount", "-o", "remount,bind,ro", "/scratch"])
    cluster.check_all()
    why = "slurmpod: check: /scratch cannot be used: Read-only file system"
    assert cluster.state(bad) == f"drained|{why}"
    assert not any("slurmpod" in cluster.state(name) for name in others)
    assert cluster.summary()["bad"] == [bad]
    cluster.workers[bad].run(["mount", "-o", "remount,bind,rw", "/scratch"])
    cluster.resume(bad)
    cluster.run("sleep 1")
    cluster.head.run([*ROUND, "--now", bad])
    wait_until(lambda: cluster.is_checked(bad, 0) and not cluster.summary()["bad"], "a good result")
    assert cluster.state(bad) in {"idle|none", "allocated|none"}


def test_the_slow_one_of_a_pair_is_known_by_a_second_partner(cluster: Cluster) -> None:
    *others, bad = cluster.names
    cluster.workers[bad].run(["sh", "-c", f'printf %s "$1" > {HOOK}', "sh", PAUSES])
    cluster.run("sleep 1")
    cluster.head.run([*ROUND, "--now", *cluster.names])
    wait_until(lambda: cluster.is_drained(bad), "a second opinion", seconds=300)
    why = cluster.state(bad)
    assert why.startswith("drained|slurmpod: check: exchange with ")
    assert all(name in why for name in others)
    assert not any("slurmpod" in cluster.state(name) for name in others)
    assert cluster.summary()["bad"] == [bad]
    assert 0 < cluster.history(bad)[-1]["numbers"]["pair MiB/s"] < 1
    worst, *_ = read_newest(cluster.head.run([*ROUND, "--newest"])).nodes
    assert (worst.name, worst.is_bad) == (bad, True)
