"""What faults do to nodes is undone however they end, without any node."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from embedded_aws.clients import Clients
from slurmpod.rehearsal.faults import interventions, networks, scripts, storage
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.shell import CommandFailed, Shell
from tests.pure.rehearsal.test_faults import CLUSTER


class Surroundings:
    """Commands on nodes and around them, `did`; the second one with the text `breaks` fails."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.breaks = ""

    def run(self, where: str, command: Sequence[str]) -> str:
        self.did.append(f"{where}: {' '.join(command)}")
        if self.breaks in self.did[-1] and len(self.with_text(self.breaks)) == 2:
            raise CommandFailed("broken")
        return "fs-1 fs-2"

    def with_text(self, *texts: str) -> list[str]:
        """Return where commands with all these texts were run."""
        found = (line for line in self.did if all(text in line for text in texts))
        return [line.partition(":")[0] for line in found]


class TestUndone:
    """What a fault has begun to change is as before when the next change fails."""

    @pytest.fixture
    def around(self, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
        around = Surroundings()

        def in_sandbox(_: Path, *command: str) -> str:
            return around.run("sandbox", command)

        monkeypatch.setattr(
            Shell, "run", lambda shell, command: around.run(shell.hostname, command)
        )
        monkeypatch.setattr(SteadyJob, "start", lambda *_: None)
        monkeypatch.setattr(FaultCluster, "log", lambda *_: None)
        monkeypatch.setattr(FaultCluster, "instances", lambda _: dict.fromkeys(CLUSTER.nodes, ""))
        monkeypatch.setattr(interventions, "in_sandbox", in_sandbox)
        monkeypatch.setattr(storage, "in_sandbox", in_sandbox)
        monkeypatch.setattr(scripts, "mirrored_package", lambda *_: nullcontext())
        return around

    def breaks(self, fault: Fault, around: Surroundings, at: str) -> None:
        around.breaks = at
        with pytest.raises(CommandFailed, match="broken"):
            fault.act(CLUSTER, Watch(0.0))

    def test_a_small_file_system(self, around: Surroundings) -> None:
        self.breaks(storage.FILE_SYSTEM_FULL, around, "mount --bind")
        covered = around.with_text("mount --bind")
        assert len(covered) == 2
        assert around.with_text("umount", "/fsx") == covered[::-1]
        assert around.with_text(f"cp -a {storage.SEEN_AT}") == [CLUSTER.login]
        assert "umount" in around.did[-1]
        assert around.did[-1].startswith("sandbox:")

    def test_names(self, around: Surroundings) -> None:
        self.breaks(networks.NAMES_GONE, around, "cp -p /etc/hosts")
        assert around.with_text(">/etc/hosts; rm") == around.with_text("cp -p /etc/hosts")[::-1]

    def test_mounts(self, around: Surroundings) -> None:
        self.breaks(storage.FILE_SYSTEM_LATE, around, "mount -t tmpfs")
        assert len(around.with_text("umount", "lustre/fs-")) == 2

    def test_wires(self, around: Surroundings) -> None:
        self.breaks(networks.NETWORK_CUT, around, "ip route replace")
        both = [CLUSTER.workers[0], CLUSTER.controller]
        assert around.with_text("ip route replace") == both
        assert around.with_text("ip route flush") == both[::-1]

    def test_the_way_to_s3(self, around: Surroundings) -> None:
        around.did.append("before: unreachable")
        self.breaks(scripts.S3_AWAY, around, "unreachable")
        assert around.with_text("ip route flush") == [CLUSTER.workers[0]]


def test_what_hyperpod_starts_is_ours_again(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = {"dev/on_init_complete.sh": b"ours"}
    s3 = SimpleNamespace(
        get_object=lambda Bucket, Key: {"Body": BytesIO(objects[Key])},  # noqa: N803
        put_object=lambda Bucket, Key, Body: objects.update({Key: Body}),  # noqa: N803
    )
    lifecycle = {"SourceS3Uri": "s3://bucket/dev", "OnInitComplete": "on_init_complete.sh"}
    monkeypatch.setattr(FaultCluster, "group_of", lambda *_: {"LifeCycleConfig": lifecycle})
    cluster = dataclasses.replace(CLUSTER, aws=cast("Clients", SimpleNamespace(s3=s3)))
    with (
        suppress(CommandFailed),
        interventions.entry_script(cluster, CLUSTER.workers[0], "another"),
    ):
        assert objects == {"dev/on_init_complete.sh": b"another"}
        raise CommandFailed("broken")
    assert objects == {"dev/on_init_complete.sh": b"ours"}


def test_scripts_end_with_all_that_they_began(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[Path] = []
    killed: list[Path] = []

    def command(_: Path, cgroup: Path, *__: object, user: None) -> list[str]:
        began.append(cgroup)
        return []

    monkeypatch.setattr(interventions, "machines_cgroup", lambda _: Path("/machines"))
    monkeypatch.setattr(interventions, "machine_command", command)
    process = SimpleNamespace(kill=lambda: None, wait=lambda: None)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: process)
    monkeypatch.setattr(cgroups, "kill", killed.append)
    worker = CLUSTER.workers[0]
    with interventions.scripts_run(CLUSTER, worker), interventions.scripts_run(CLUSTER, worker):
        assert killed == []
    assert killed == began[::-1]
    assert len({Path("/machines") / worker / "shell", *began}) == 3, "a cgroup of its own"
