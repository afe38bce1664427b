"""What a computer lacks is named together with its remedy."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

import pytest

from slurmpod.rehearsal.nodes import cgroups, host_check
from slurmpod.rehearsal.nodes.host_check import (
    HOST_PACKAGES,
    missing,
    missing_packages,
    raise_limits,
)

DEFAULT_LIMITS = {
    "fs.inotify.max_user_instances": 128,
    "net.ipv4.neigh.default.gc_thresh3": 1024,
}


@pytest.fixture(autouse=True)
def sound_computer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pretend that nothing is missing; each test then takes one thing away."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-13-amd64")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda command, path="": f"/usr/bin/{command}{path}"[:9])
    monkeypatch.setattr(Path, "exists", lambda _: True)
    monkeypatch.setattr(host_check, "_has_overlayfs", lambda: True)
    monkeypatch.setattr(host_check, "_limit", DEFAULT_LIMITS.__getitem__)
    monkeypatch.setattr(host_check, "_inotify_instances", lambda: 28)
    monkeypatch.setattr(cgroups, "hierarchy", lambda: tmp_path)


def _fixes(machine_count: int = 4) -> list[str]:
    return [lack.fix for lack in missing(machine_count)]


def test_nothing() -> None:
    assert (missing(4), missing_packages()) == ([], [])


def test_another_system_lacks_linux_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert [lack.what for lack in missing(4)] == ["Linux"]


def test_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert _fixes() == ["run the command with sudo"]


@pytest.mark.parametrize("release", ["5.10.0-30-amd64", "4.18.0"])
def test_kernel(monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    monkeypatch.setattr(platform, "release", lambda: release)
    (lack,) = missing(4)
    assert release in lack.why


def test_overlayfs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_check, "_has_overlayfs", lambda: False)
    assert _fixes() == ["load it with: modprobe overlay"]


def test_cgroups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "hierarchy", lambda: None)
    (fix,) = _fixes()
    assert "mount -t cgroup2" in fix


def test_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    packages = [package.name for package in HOST_PACKAGES if package.commands]
    assert missing_packages() == packages
    assert _fixes() == [f"apt-get install --yes {name}" for name in packages]


def test_limits_matter_to_many_machines_only() -> None:
    assert _fixes(machine_count=25) == []
    assert _fixes(machine_count=26) == ["sysctl -w fs.inotify.max_user_instances=8192"]


def test_packages_are_listed_once() -> None:
    names = [package.name for package in HOST_PACKAGES]
    assert len(names) == len(set(names))


def test_a_process_that_ends_while_it_is_looked_at_has_nothing_open(tmp_path: Path) -> None:
    running, ended = tmp_path / "1", tmp_path / "2"
    (running / "fd").mkdir(parents=True)
    for number, target in enumerate(("anon_inode:inotify", "/dev/null", "anon_inode:inotify")):
        (running / "fd" / str(number)).symlink_to(target)
    assert host_check.inotify_instances_of(running) == 2
    assert host_check.inotify_instances_of(ended) == 0


class TestLimits:
    @pytest.fixture
    def settings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Return a stand-in for /proc/sys, with the defaults of a new machine."""
        for name, value in DEFAULT_LIMITS.items():
            file = tmp_path.joinpath("sys", *name.split("."))
            file.parent.mkdir(parents=True)
            file.write_text(f"{value}\n")
        monkeypatch.undo()
        monkeypatch.setattr(host_check, "PROC_SYS", tmp_path / "sys")
        monkeypatch.setattr(host_check, "_inotify_instances", lambda: 28)
        return tmp_path / "sys"

    def test_are_raised_for_the_largest_example_once(self, settings: Path) -> None:
        told = raise_limits()
        assert "fs.inotify.max_user_instances from 128 to 8192" in told[0]
        assert len(told) == len(DEFAULT_LIMITS)
        assert (settings / "fs/inotify/max_user_instances").read_text() == "8192"
        assert list(host_check._low_limits(66)) == []
        assert raise_limits() == []

    def test_that_the_computer_keeps_are_left_to_the_check(
        self, settings: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> int:
            raise PermissionError

        monkeypatch.setattr(Path, "write_text", refuse)
        assert raise_limits() == []
        assert [each.fix for each in host_check._low_limits(66)][:1] == [
            "sysctl -w fs.inotify.max_user_instances=8192"
        ]
