"""Machines made of real namespaces, booted from the real image: needs root and Linux."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

import pytest

from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.slurm_versions import DEFAULT_SLURM
from slurmpod.rehearsal import shell
from slurmpod.rehearsal.hyperpod.image_disk import files_of
from slurmpod.rehearsal.nodes.enter import enter_command
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import (
    clear_if_dead,
    further_network,
    machines_cgroup,
    machines_folder,
)
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.nodes.sandbox import BRIDGE
from slurmpod.rehearsal.nodes.spec import File, MachineSpec
from slurmpod.rehearsal.shell import CommandFailed, Shell
from tests.nodes.conftest import PATIENCE_SECONDS, wait_until

SUBNET = IPv4Network("10.1.0.0/16")
LUSTRE = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh"
OTHER_LUSTRE = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com@tcp:/ijklmnop"
NFS = "fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com:/fsx"


@pytest.fixture(scope="module")
def machines(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two machines for tests without side effects; alpha booted before beta was known."""
    files = {
        "/opt/ml/config/resource_config.json": File(b"{}"),
        "/etc/munge/munge.key": File(b"k" * 128, mode=0o400, owner="munge"),
    }
    with _start(tmp_path_factory.mktemp("rehearsal"), image) as machines:
        machines.boot(_spec("alpha", 10, files, accelerators=2, accelerator_kind="neuron"))
        machines.boot(_spec("beta", 11, files))
        yield machines


@pytest.fixture
def own_machines(image: Path, tmp_path: Path) -> Iterator[Machines]:
    """A network without machines, for one test."""
    with _start(tmp_path, image) as machines:
        yield machines


def _start(directory: Path, image: Path) -> Machines:
    shared: dict[str, Path] = {}
    for source in (LUSTRE, OTHER_LUSTRE, NFS):
        shared[source] = directory / f"shared-{len(shared)}"
        shared[source].mkdir(exist_ok=True)
    return Machines.start(directory, image=image, file_systems=shared)


SLURM_UNITS = files_of(load().profile.image)


def _spec(
    hostname: str,
    host_number: int,
    files: Mapping[str, File] | None = None,
    accelerators: int = 0,
    accelerator_kind: str = "nvidia",
) -> MachineSpec:
    address = IPv4Interface(f"{SUBNET.network_address + host_number}/{SUBNET.prefixlen}")
    return MachineSpec(
        hostname,
        address,
        {**SLURM_UNITS, **(files or {})},
        accelerators,
        accelerator_kind,
    )


def _run(
    machines: Machines, hostname: str, command: str, *, user: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    return machines.run(
        hostname, ["sh", "-c", command], user=user, timeout_seconds=PATIENCE_SECONDS
    )


def _output(machines: Machines, hostname: str, command: str, *, user: str | None = None) -> str:
    result = _run(machines, hostname, command, user=user)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode().strip()


def _failed_units(machines: Machines, hostname: str) -> str:
    return _output(machines, hostname, "systemctl --failed --no-legend")


class TestBoot:
    def test_systemd_is_running_and_no_unit_failed(self, machines: Machines) -> None:
        assert _output(machines, "alpha", "systemctl is-system-running") == "running"
        assert _failed_units(machines, "alpha") == ""

    def test_systemd_alone_finds_no_libbpf(self, machines: Machines) -> None:
        assert "libbpf" not in _output(machines, "alpha", "cat /proc/1/maps")
        service = "/proc/$(systemctl show --property=MainPID --value munge)/environ"
        assert "PATH=" in _output(machines, "alpha", f"cat {service}")
        assert "without-bpf" not in _output(machines, "alpha", f"cat {service}")

    def test_its_files_were_there_before_systemd(self, machines: Machines) -> None:
        states = _output(
            machines,
            "alpha",
            "stat -c '%a %U' /opt/ml/config/resource_config.json /etc/munge/munge.key;"
            "systemctl is-active munge",
        )
        assert states.splitlines() == ["600 root", "400 munge", "active"]

    def test_it_has_an_identity_of_its_own(self, machines: Machines) -> None:
        identity = "hostname; cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub; hostname -I"
        alpha = _output(machines, "alpha", identity).split()
        beta = _output(machines, "beta", identity).split()
        assert (alpha[0], alpha[-1]) == ("alpha", "10.1.0.10")
        assert (beta[0], beta[-1]) == ("beta", "10.1.0.11")
        assert alpha[1] != beta[1]
        assert alpha[3] != beta[3]

    def test_its_clock_starts_at_its_boot(self, machines: Machines) -> None:
        uptime = float(_output(machines, "alpha", "cut -d' ' -f1 /proc/uptime"))
        assert uptime < time.clock_gettime(time.CLOCK_BOOTTIME) / 2

    def test_accelerators_are_device_files(self, machines: Machines) -> None:
        assert _output(machines, "alpha", "ls /dev/neuron*").split() == [
            "/dev/neuron0",
            "/dev/neuron1",
        ]
        assert _run(machines, "beta", "ls /dev/neuron*").returncode != 0

    def test_the_same_name_cannot_boot_twice(self, machines: Machines) -> None:
        with pytest.raises(MachineFailed, match="alpha is already running"):
            machines.boot(_spec("alpha", 10))

    def test_failure_shows_the_end_of_the_console(self, image: Path, tmp_path: Path) -> None:
        with _start(tmp_path, image / "no such image") as machines:
            with pytest.raises(MachineFailed, match=r"(?s)stopped while it booted.*no such image"):
                machines.boot(_spec("alpha", 10))
            with pytest.raises(MachineFailed, match="alpha is not running"):
                _run(machines, "alpha", "true")
            cgroup = machines_cgroup(tmp_path)
            assert cgroup is not None
            assert not (cgroup / "alpha").exists()

    def test_many_at_once_from_several_threads(self, own_machines: Machines) -> None:
        names = [f"worker-{number}" for number in range(6)]
        with ThreadPoolExecutor(len(names)) as threads:
            list(threads.map(own_machines.boot, map(_spec, names, range(20, 26))))
        for name in names:
            assert _run(own_machines, name, f"getent hosts {' '.join(names)}").returncode == 0


class TestNetwork:
    def test_everybody_knows_everybody(self, machines: Machines) -> None:
        assert _output(machines, "alpha", "getent hosts beta").split()[0] == "10.1.0.11"
        assert _output(machines, "beta", "getent hosts alpha").split()[0] == "10.1.0.10"
        assert _run(machines, "alpha", "ping -c 1 beta").returncode == 0

    def test_hosts_is_an_ordinary_file(self, machines: Machines) -> None:
        command = "echo 10.1.0.99 friend >> /etc/hosts && sed -i s/friend/fiend/ /etc/hosts"
        assert _run(machines, "alpha", command).returncode == 0
        assert _run(machines, "alpha", "getent hosts fiend").returncode == 0
        assert _run(machines, "beta", "getent hosts fiend").returncode == 2

    def test_subnets_reach_each_other_through_their_routers(self, own_machines: Machines) -> None:
        near = MachineSpec("near", IPv4Interface("10.1.0.20/24"))
        far = MachineSpec("far", IPv4Interface("10.1.1.20/24"), aliases=("db.example.com",))
        for spec in (near, far):
            own_machines.boot(spec)
        assert _run(own_machines, "near", "ping -c 1 db.example.com").returncode == 0
        route = _output(own_machines, "near", "ip route get 10.1.1.20")
        assert "via 10.1.0.1" in route
        own_machines.power_cut("near")
        own_machines.boot(near)
        assert _run(own_machines, "far", "ping -c 1 -W 1 near").returncode == 0

    def test_a_door_leads_to_one_port_of_this_computer(self, machines: Machines) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            where = machines.open_door(server.getsockname()[1])
            address, port = where.split(":")
            with ThreadPoolExecutor(1) as thread:
                command = f"echo hello | nc -N {address} {port}"
                asked = thread.submit(_output, machines, "beta", command)
                connection, _ = server.accept()
                with connection:
                    assert connection.makefile("rb").read() == b"hello\n"
                    connection.sendall(b"goodbye\n")
                assert asked.result() == "goodbye"
            other = f"nc -z -w 1 {address} {int(port) + 1}"
            assert _run(machines, "beta", other).returncode != 0

    def test_a_host_that_is_allowed_is_found_by_its_name(
        self, machines: Machines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connect = socket.create_connection
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            monkeypatch.setattr(
                socket, "create_connection", lambda address: connect(("127.0.0.1", address[1]))
            )
            assert machines.allow("mirror.example.com", port) == f"mirror.example.com:{port}"
            assert machines.allow("localhost", port).endswith(f".1:{port}")
            command = f"nc -z mirror.example.com {port}"
            assert _run(machines, "alpha", command).returncode == 0
        assert _run(machines, "alpha", f"nc -z mirror.example.com {port + 1}").returncode != 0

    def test_there_is_no_way_out(self, machines: Machines) -> None:
        assert "Unreachable" in _run(machines, "alpha", "ping -c 1 192.0.2.1").stdout.decode()
        assert _run(machines, "alpha", "getent hosts example.invalid").returncode == 2


class TestBeside:
    """Another network: as another VPC, it may have the same addresses and names."""

    def test_machines_that_are_named_alike_never_meet(
        self, machines: Machines, tmp_path: Path
    ) -> None:
        with machines.beside(tmp_path) as others:
            others.boot(_spec("beta", 11))
            identity = "cat /etc/machine-id; hostname --all-ip-addresses"
            other = Shell(tmp_path, "beta").run(["sh", "-c", identity]).split()
            assert other == _output(others, "beta", identity).split()
            beta = _output(machines, "beta", identity).split()
            assert other[0] != beta[0]
            assert other[1] == beta[1] == "10.1.0.11"
            assert _run(others, "beta", "getent hosts alpha").returncode != 0
            assert _run(others, "beta", "ping -c 1 -W 1 10.1.0.10").returncode != 0
            assert _run(machines, "beta", "ping -c 1 10.1.0.10").returncode == 0

    def test_they_have_the_same_file_systems(self, machines: Machines, tmp_path: Path) -> None:
        mounted = f"mkdir -p /mnt/all && mount -t lustre {LUSTRE} /mnt/all"
        with machines.beside(tmp_path) as others:
            others.boot(_spec("gamma", 12))
            _output(others, "gamma", f"{mounted} && touch /mnt/all/from-beside")
        listed = _output(machines, "alpha", f"{mounted} && ls /mnt/all && umount /mnt/all")
        assert "from-beside" in listed.split()


class TestHostIsSafe:
    @pytest.mark.parametrize(
        "command",
        [
            "sysctl --write vm.swappiness=1",
            "date --set now",
            "echo s > /proc/sys/kernel/printk",
            "dmesg --clear",
        ],
    )
    def test_kernel_settings_are_out_of_reach(self, machines: Machines, command: str) -> None:
        assert _run(machines, "alpha", command).returncode != 0

    def test_network_settings_are_its_own(self, machines: Machines) -> None:
        setting = "net.ipv4.tcp_fin_timeout"
        assert _run(machines, "alpha", f"sysctl --write {setting}=7").returncode == 0
        assert _output(machines, "beta", f"sysctl --values {setting}") != "7"

    def test_its_files_are_out_of_sight(self, machines: Machines) -> None:
        assert _run(machines, "alpha", f"test -e {_directory(machines)}").returncode == 1
        assert _run(machines, "alpha", "test -e /run/host").returncode == 1


class TestRun:
    def test_is_root_without_home_and_terminal(self, machines: Machines) -> None:
        command = 'id -un; pwd; echo "HOME=$HOME"; echo > /dev/tty'
        result = _run(machines, "alpha", command)
        assert result.stdout.decode().splitlines() == ["root", "/", "HOME="]
        assert b"No such device" in result.stderr

    def test_is_a_user_with_a_home(self, machines: Machines) -> None:
        command = 'id -un; echo "$HOME"; sudo --non-interactive id -un'
        assert _output(machines, "alpha", command, user="ubuntu").split() == [
            "ubuntu",
            "/home/ubuntu",
            "root",
        ]

    def test_gets_input_environment_and_folder(self, machines: Machines) -> None:
        result = machines.run(
            "alpha",
            ["/bin/sh", "-c", 'cat; pwd; echo "$GREETING"'],
            stdin=b"input\n",
            environment={"GREETING": "two words"},
            cwd="/opt/ml",
            timeout_seconds=PATIENCE_SECONDS,
        )
        assert result.stdout.decode().splitlines() == ["input", "/opt/ml", "two words"]

    def test_writes_both_outputs_to_a_file(self, machines: Machines, tmp_path: Path) -> None:
        log = tmp_path / "log"
        with log.open("wb") as stdout:
            result = machines.run(
                "alpha",
                ["sh", "-c", "echo out; echo err >&2; exit 3"],
                stdout=stdout,
                timeout_seconds=PATIENCE_SECONDS,
            )
        assert (result.returncode, log.read_text()) == (3, "out\nerr\n")

    def test_leaves_what_the_command_started(self, machines: Machines, tmp_path: Path) -> None:
        with (tmp_path / "log").open("wb") as stdout:
            machines.run(
                "alpha",
                ["sh", "-c", "setsid sleep 4321 &"],
                stdout=stdout,
                timeout_seconds=PATIENCE_SECONDS,
            )
        kill = "pkill --full --exact 'sleep 4321'"
        wait_until(lambda: _run(machines, "alpha", kill).returncode == 0, "what it started")

    def test_kills_all_of_it_when_time_is_up(self, machines: Machines) -> None:
        command = ["sh", "-c", "setsid sleep 1234 & touch /root/started; sleep 1234"]
        with pytest.raises(subprocess.TimeoutExpired):
            machines.run("alpha", command, timeout_seconds=5)
        assert _run(machines, "alpha", "ls /root/started").returncode == 0
        assert _run(machines, "alpha", "pgrep --full --exact 'sleep 1234'").returncode == 1

    def test_another_process_can_enter(self, machines: Machines, tmp_path: Path) -> None:
        directory = _directory(machines)
        argv = enter_command(directory, "beta", ["sh", "-c", "id -un; hostname"], user="ubuntu")
        output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        assert output.split() == ["ubuntu", "beta"]
        with pytest.raises(MachineFailed, match="gamma is not running"):
            enter_command(directory, "gamma", ["true"])
        with pytest.raises(MachineFailed, match="no machines in"):
            enter_command(tmp_path, "beta", ["true"])

    def test_a_session_ends_what_takes_too_long(
        self, machines: Machines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shell, "COMMAND_TIMEOUT_SECONDS", 1)
        session = Shell(_directory(machines), "beta")
        with pytest.raises(CommandFailed, match="on beta did not end within 1 s"):
            session.run(["sh", "-c", "sleep 2468 & sleep 2468"])
        assert _run(machines, "beta", "pgrep --full --exact 'sleep 2468'").returncode == 1


class TestLustre:
    OPTIONS = "-o noatime,flock,_netdev,x-systemd.automount"

    def test_is_shared_by_all_machines(self, machines: Machines) -> None:
        for name in ("alpha", "beta"):
            command = f"mkdir -p /fsx && mount -t lustre {self.OPTIONS} {LUSTRE} /fsx"
            assert _run(machines, name, command).returncode == 0
            assert _output(machines, name, "findmnt --noheadings --output TARGET /fsx") == "/fsx"
        assert _run(machines, "alpha", "echo hello > /fsx/greeting").returncode == 0
        assert _output(machines, "beta", "cat /fsx/greeting") == "hello"
        again = _run(machines, "beta", f"mount -t lustre {LUSTRE} /fsx")
        assert (again.returncode, b"already mounted" in again.stderr) == (17, True)
        assert _run(machines, "beta", "umount /fsx && ! mountpoint -q /fsx").returncode == 0

    def test_is_mounted_when_somebody_looks_where_fstab_says_so(self, machines: Machines) -> None:
        line = f"{LUSTRE} /later lustre noatime,_netdev,x-systemd.automount 0 0"
        command = f"echo '{line}' >> /etc/fstab && systemctl daemon-reload"
        assert _run(machines, "beta", command).returncode == 0
        assert _run(machines, "beta", "systemctl start later.automount").returncode == 0
        assert _output(machines, "beta", "findmnt --noheadings --output FSTYPE /later") == "autofs"
        assert _run(machines, "beta", "touch /later/there").returncode == 0
        assert len(_output(machines, "beta", "findmnt --noheadings /later").splitlines()) == 2
        stop = "systemctl stop later.automount later.mount; sed -i '$d' /etc/fstab"
        assert _run(machines, "beta", f"{stop}; systemctl daemon-reload").returncode == 0

    def test_waits_for_its_use_after_a_script_mounts_and_starts_remote_file_systems_again(
        self, machines: Machines
    ) -> None:
        line = f"{LUSTRE} /early lustre noatime,_netdev,x-systemd.automount 0 0"
        mount = f"echo '{line}' >> /etc/fstab && mkdir -p /early && mount /early"
        again = "systemctl daemon-reload && systemctl restart remote-fs.target"
        assert _run(machines, "beta", f"{mount} && {again}").returncode == 0
        assert _run(machines, "beta", "systemctl status early.automount").returncode == 0
        assert _output(machines, "beta", "findmnt --noheadings --output FSTYPE /early") == "autofs"
        assert _run(machines, "beta", "touch /early/there").returncode == 0
        assert len(_output(machines, "beta", "findmnt --noheadings /early").splitlines()) == 2
        stop = "systemctl stop early.automount early.mount; sed -i '$d' /etc/fstab"
        assert _run(machines, "beta", f"{stop}; systemctl daemon-reload").returncode == 0

    def test_no_boot_has_to_leave_out_what_waits_in_a_circle(self, machines: Machines) -> None:
        line = f"{LUSTRE} /circle lustre noatime,_netdev,x-systemd.automount 0 0"
        add = f"echo '{line}' >> /etc/fstab && systemctl daemon-reload"
        assert _run(machines, "beta", add).returncode == 0
        told = _output(machines, "beta", "systemd-analyze verify --man=no default.target 2>&1")
        assert (
            _run(machines, "beta", "sed -i '$d' /etc/fstab; systemctl daemon-reload").returncode
            == 0
        )
        assert told == ""

    def test_a_parameter_of_the_kernel_that_no_node_may_set_is_no_failure(
        self, machines: Machines
    ) -> None:
        denied = _run(machines, "beta", "sysctl -w net.core.wmem_max=67108864")
        assert denied.returncode == 0
        assert b"Operation not permitted" in denied.stderr
        assert _run(machines, "beta", "sysctl -w no.such=1").returncode == 1
        assert _output(machines, "beta", "sysctl -n kernel.ostype") == "Linux"

    def test_scripts_may_ask_for_the_version_of_nvidias_driver(self, machines: Machines) -> None:
        assert _output(machines, "beta", "modinfo -F version nvidia") == "580.126.09"

    def test_scripts_may_ask_for_its_client(self, machines: Machines) -> None:
        asked = (
            "lctl list_nids; lnetctl net show --net efa; modprobe lnet; modinfo -F version lustre"
        )
        assert _output(machines, "beta", asked) == "10.1.0.11@tcp\n2.15.6"
        assert "status: up" in _output(machines, "beta", "lnetctl net show -v")
        assert _run(machines, "beta", "lctl set_param x=1").returncode == 1
        assert _run(machines, "beta", "modprobe nvidia").returncode != 0

    def test_two_of_one_server_are_distinct(self, machines: Machines) -> None:
        command = (
            f"mkdir -p /a /b && mount -t lustre {LUSTRE} /a && mount -t lustre {OTHER_LUSTRE} /b"
        )
        assert _run(machines, "alpha", command).returncode == 0
        assert _run(machines, "alpha", "touch /a/only-here && ! ls /b/only-here").returncode == 0
        assert _run(machines, "alpha", "umount /a /b && rmdir /a /b").returncode == 0

    def test_wrong_mount_name(self, machines: Machines) -> None:
        result = _run(machines, "alpha", f"mount -t lustre {LUSTRE[:-1]} /mnt")
        assert result.returncode == 2
        assert b"No such file or directory" in result.stderr

    def test_wrong_dns_name(self, machines: Machines) -> None:
        result = _run(machines, "alpha", f"mount -t lustre {LUSTRE.replace('west', 'east')} /mnt")
        assert result.returncode == 22
        assert b"Can't parse NID" in result.stderr

    def test_a_later_one_appears_in_running_machines(
        self, machines: Machines, tmp_path: Path
    ) -> None:
        (tmp_path / "data").touch()
        source = "fs-0f00.fsx.us-west-2.amazonaws.com@tcp:/later"
        machines.add_file_system(source, tmp_path)
        command = f"mount -t lustre {source} /mnt && ls /mnt && umount /mnt"
        assert _output(machines, "beta", command) == "data"

    def test_source_must_be_lustre(self, machines: Machines, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="neither DNS_NAME@tcp:/MOUNT_NAME nor DNS_NAME:/EX"):
            machines.add_file_system("fs-0f00.fsx.us-west-2.amazonaws.com", tmp_path)

    def test_a_file_system_that_is_added_again_keeps_its_content(
        self, machines: Machines, tmp_path: Path
    ) -> None:
        machines.add_file_system(LUSTRE, tmp_path)
        command = f"mount -t lustre {LUSTRE} /mnt && touch /mnt/there && umount /mnt"
        assert _run(machines, "alpha", command).returncode == 0
        assert list(tmp_path.iterdir()) == []


class TestNfs:
    def test_is_shared_by_all_machines(self, machines: Machines) -> None:
        for name in ("alpha", "beta"):
            command = f"mkdir -p /shared && mount -t nfs -o nfsvers=4.2,nconnect=16 {NFS} /shared"
            assert _run(machines, name, command).returncode == 0
        assert _run(machines, "alpha", "echo hello > /shared/greeting").returncode == 0
        assert _output(machines, "beta", "cat /shared/greeting") == "hello"
        again = _run(machines, "beta", f"mount -t nfs4 {NFS} /shared")
        assert (again.returncode, b"busy or already mounted" in again.stderr) == (32, True)
        assert _run(machines, "beta", "umount /shared && ! mountpoint -q /shared").returncode == 0

    def test_folders_of_it_can_be_mounted(self, machines: Machines) -> None:
        command = (
            f"mount -t nfs {NFS} /mnt && mkdir -p /mnt/team && touch /mnt/team/data && umount /mnt"
            f" && mount -t nfs {NFS}/team /mnt && ls /mnt && umount /mnt"
        )
        assert _output(machines, "beta", command) == "data"

    @pytest.mark.parametrize(
        ("source", "reason"),
        [
            (f"{NFS}/nope", b"No such file or directory"),
            (NFS.replace("/fsx", "/other"), b"No such file or directory"),
            (NFS.replace("west", "east"), b"Failed to resolve server"),
        ],
    )
    def test_what_is_not_there(self, machines: Machines, source: str, reason: bytes) -> None:
        result = _run(machines, "alpha", f"mount -t nfs {source} /mnt")
        assert (result.returncode, reason in result.stderr) == (32, True)


class TestPowerCut:
    def test_disk_is_lost_and_name_may_boot_again(self, own_machines: Machines) -> None:
        own_machines.boot(_spec("alpha", 10))
        own_machines.boot(_spec("beta", 11))
        assert _run(own_machines, "beta", "touch /root/work").returncode == 0
        own_machines.power_cut("beta")
        own_machines.power_cut("beta")
        with pytest.raises(MachineFailed, match="beta is not running"):
            _run(own_machines, "beta", "true")
        assert _run(own_machines, "alpha", "ping -c 1 -W 1 beta").returncode == 1
        own_machines.boot(_spec("beta", 11))
        assert _run(own_machines, "beta", "test -e /root/work").returncode == 1
        assert _run(own_machines, "alpha", "ping -c 1 beta").returncode == 0
        assert _output(own_machines, "alpha", "grep -c beta /etc/hosts") == "1"

    def test_peers_are_not_told(self, own_machines: Machines) -> None:
        own_machines.boot(_spec("alpha", 10))
        own_machines.boot(_spec("beta", 11))
        established = "ss --no-header state established dst 10.1.0.11"
        listen = "systemd-run --unit=listen nc -l 4000"
        connect = "systemd-run --unit=connect sh -c 'sleep 1000 | nc beta 4000'"
        assert _run(own_machines, "beta", listen).returncode == 0
        wait = "until ss --no-header --listening --tcp | grep -q 4000; do sleep 0.05; done"
        assert _run(own_machines, "beta", wait).returncode == 0
        assert _run(own_machines, "alpha", connect).returncode == 0
        wait_until(lambda: _output(own_machines, "alpha", established) != "", "a connection")
        own_machines.power_cut("beta")
        assert _output(own_machines, "alpha", established) != ""

    def test_ends_a_command_that_runs(self, own_machines: Machines) -> None:
        own_machines.boot(_spec("alpha", 10))
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(_run, own_machines, "alpha", "sleep 1000")
            wait_until(lambda: _run(own_machines, "alpha", "pgrep sleep").returncode == 0, "sleep")
            own_machines.power_cut("alpha")
            assert running.result().returncode == -signal.SIGKILL

    def test_also_ends_a_boot(self, own_machines: Machines) -> None:
        with ThreadPoolExecutor(1) as thread:
            boot = thread.submit(own_machines.boot, _spec("alpha", 10))
            console = machines_folder(_directory(own_machines)) / "alpha/console.log"
            wait_until(console.exists, "the beginning of the boot")
            own_machines.power_cut("alpha")
            with pytest.raises(MachineFailed, match="alpha stopped while it booted"):
                boot.result()
        own_machines.boot(_spec("alpha", 10))

    def test_a_machine_may_shut_itself_down(self, own_machines: Machines) -> None:
        own_machines.boot(_spec("alpha", 10))
        _run(own_machines, "alpha", "systemctl poweroff")

        def boots_again() -> bool:
            with suppress(MachineFailed):
                own_machines.boot(_spec("alpha", 10))
                return True
            return False

        wait_until(boots_again, "a second boot")
        assert _run(own_machines, "alpha", "true").returncode == 0

    def test_unknown_machine(self, machines: Machines) -> None:
        with pytest.raises(MachineFailed, match="no machine gamma"):
            machines.power_cut("gamma")


class TestReboot:
    def test_the_disk_stays_and_what_is_enabled_starts(self, own_machines: Machines) -> None:
        own_machines.boot(_spec("alpha", 10, {"/etc/given": File(b"at first")}))
        _output(own_machines, "alpha", "echo changed >/etc/given; touch /tmp/left")
        unit = "[Service]\\nExecStart=touch /root/started\\n[Install]\\nWantedBy=multi-user.target"
        enable = f"printf '{unit}' >/etc/systemd/system/mark.service; systemctl enable mark"
        assert _run(own_machines, "alpha", enable).returncode == 0
        machine_id = _output(own_machines, "alpha", "cat /etc/machine-id")
        own_machines.boot(_spec("beta", 11))
        own_machines.reboot("alpha")
        assert _output(own_machines, "alpha", "cat /etc/given /etc/machine-id").split() == [
            "changed",
            machine_id,
        ]
        assert (
            _run(own_machines, "alpha", "test -e /root/started -a ! -e /tmp/left").returncode == 0
        )
        assert _run(own_machines, "beta", "ping -c 1 alpha").returncode == 0
        assert _output(own_machines, "alpha", "grep -c beta /etc/hosts") == "1"

    def test_a_machine_that_does_not_shut_down_is_made_to(
        self, own_machines: Machines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slurmpod.rehearsal.nodes.machine._SHUTDOWN_SECONDS", 0.0)
        own_machines.boot(_spec("alpha", 10))
        assert _run(own_machines, "alpha", "touch /root/work").returncode == 0
        own_machines.reboot("alpha")
        assert _run(own_machines, "alpha", "test -e /root/work").returncode == 0

    def test_who_is_inside_does_not_hold_it_up(self, own_machines: Machines) -> None:
        """A machine that shuts down stops all its processes before it kills them."""
        own_machines.boot(_spec("alpha", 10))
        command, longer = ["sh", "-c", "kill -STOP $$"], 2 * PATIENCE_SECONDS
        with ThreadPoolExecutor(1) as thread:
            inside = thread.submit(own_machines.run, "alpha", command, timeout_seconds=longer)
            stopped = "ps -eo stat= | grep -q T"
            wait_until(lambda: _run(own_machines, "alpha", stopped).returncode == 0, "the stop")
            _run(own_machines, "alpha", "systemctl reboot")
            wait_until(lambda: own_machines.is_off("alpha"), "its end")
            assert own_machines.wants_reboot("alpha")
            assert inside.result().returncode == -signal.SIGTERM

    def test_without_power_there_is_no_disk_to_boot_from(self, own_machines: Machines) -> None:
        own_machines.boot(_spec("alpha", 10))
        own_machines.power_cut("alpha")
        with pytest.raises(MachineFailed, match="alpha"):
            own_machines.reboot("alpha")
        own_machines.boot(_spec("alpha", 10))


OWNER = textwrap.dedent(
    """
    import signal, sys, time
    from ipaddress import IPv4Interface
    from pathlib import Path
    from slurmpod.rehearsal.nodes.folder import further_network
    from slurmpod.rehearsal.nodes.machines import Machines
    from slurmpod.rehearsal.nodes.spec import MachineSpec

    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    directory, image = Path(sys.argv[1]), Path(sys.argv[2])
    machines = Machines.start(directory, image=image, file_systems={})
    beside = machines.beside(further_network(directory, 2))
    print("started", flush=True)
    machines.boot(MachineSpec("alpha", IPv4Interface("10.1.0.10/16")))
    print("booted", flush=True)
    time.sleep(1000)
    """
)


class TestOwnerDies:
    @pytest.mark.parametrize("moment", ["started", "booting", "booted"])
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_nothing_outlives_it(
        self, image: Path, tmp_path: Path, number: signal.Signals, moment: str
    ) -> None:
        directory = tmp_path / "rehearsal"
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(directory), str(image)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert owner.stdout is not None
        with owner, owner.stdout as stdout:
            _wait_for(moment, stdout.readline, machines_folder(directory) / "alpha/console.log")
            networks = (directory, further_network(directory, 2))
            cgroup, beside = (machines_cgroup(network) for network in networks)
            assert cgroup is not None
            assert beside is not None
            assert _processes_in(cgroup)
            assert _processes_in(beside)
            assert not clear_if_dead(directory)
            owner.send_signal(number)
            owner.wait(PATIENCE_SECONDS)
        wait_until(
            lambda: not (_processes_in(cgroup) or _processes_in(beside)), "the end of all processes"
        )
        assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
        assert not Path("/sys/class/net", BRIDGE).exists()
        was_left = cgroup.exists() or beside.exists()
        assert clear_if_dead(directory) == was_left
        assert not cgroup.exists()
        assert not beside.exists()

    def test_nothing_to_clear(self, machines: Machines, tmp_path: Path) -> None:
        assert not clear_if_dead(tmp_path)
        assert not clear_if_dead(tmp_path / "none")
        assert not clear_if_dead(_directory(machines))
        assert _run(machines, "alpha", "true").returncode == 0

    def test_close_may_be_repeated(self, image: Path, tmp_path: Path) -> None:
        machines = _start(tmp_path, image)
        machines.boot(_spec("alpha", 10))
        cgroup = machines_cgroup(tmp_path)
        machines.close()
        machines.close()
        assert cgroup is not None
        assert not cgroup.exists()
        with pytest.raises(MachineFailed, match="is closed"):
            machines.boot(_spec("alpha", 10))
        with pytest.raises(MachineFailed, match="was used before"):
            _start(tmp_path, image)


def _directory(machines: Machines) -> Path:
    return machines._folder.path.parent


def _wait_for(moment: str, next_line: Callable[[], str], console: Path) -> None:
    assert next_line() == "started\n"
    if moment == "booting":
        wait_until(console.exists, "the beginning of the boot")
    if moment == "booted":
        assert next_line() == "booted\n"


def _processes_in(cgroup: Path) -> list[int]:
    return [
        int(pid)
        for folder, _, _ in os.walk(cgroup)
        for pid in Path(folder, "cgroup.procs").read_text().split()
    ]


SLURM_CONF = """
ClusterName=test
SlurmctldHost=controller(10.1.0.10)
SlurmUser=slurm
SlurmctldParameters=enable_configless
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
AccountingStorageType=accounting_storage/slurmdbd
GresTypes=gpu
MailProg=/bin/true
NodeName=login NodeAddr=10.1.0.11 CPUs=2
NodeName=worker-[1-2] NodeAddr=10.1.0.[21-22] CPUs=192 Gres=gpu:2
PartitionName=dev Nodes=worker-[1-2] Default=YES
"""
SLURMDBD_CONF = """
DbdHost=controller
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageUser=slurm
StoragePass=secret
"""


class TestSlurm:
    """The image's Slurm under systemd, with nothing that the AMI does not have."""

    def test_runs_jobs_from_a_login_node(self, own_machines: Machines) -> None:
        key = File(os.urandom(128), mode=0o400, owner="munge")
        slurmd = File(b"SLURMD_OPTIONS='--conf-server 10.1.0.10'\n", mode=0o644)
        self._boot_controller(own_machines, key)
        others = {"login": 11, "worker-1": 21, "worker-2": 22}
        for name, number in others.items():
            files = {"/etc/munge/munge.key": key, "/opt/slurm/etc/default/slurmd": slurmd}
            own_machines.boot(_spec(name, number, files, accelerators=2))
        controller = (
            "systemctl enable --now mariadb && mariadb --execute "
            "\"create user slurm@localhost identified by 'secret';"
            'grant all on slurm_acct_db.* to slurm@localhost" && '
            "{ systemctl enable --now slurmdbd || systemctl start slurmdbd; } && "
            "sacctmgr --immediate add cluster test && "
            "sacctmgr --immediate add account research && systemctl enable --now slurmctld"
        )
        assert _run(own_machines, "controller", controller).returncode == 0
        for name in others:
            assert _run(own_machines, name, "systemctl enable --now slurmd").returncode == 0
        job = "srun --nodes=2 --gres=gpu:2 sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'"
        lines = sorted(_output(own_machines, "login", job, user="ubuntu").splitlines())
        assert lines == ["worker-1 0,1", "worker-2 0,1"]
        for name in ("controller", *others):
            assert _failed_units(own_machines, name) == ""

    def test_start_tells_the_truth(self, own_machines: Machines) -> None:
        files = {
            "/opt/slurm/etc/slurm.conf": File(b"", mode=0o644),
            "/opt/slurm/etc/default/slurmd": File(b"SLURMD_OPTIONS=--no-such-option"),
        }
        own_machines.boot(_spec("alpha", 10, files))
        for service in ("slurmctld", "slurmdbd", "slurmd"):
            assert _run(own_machines, "alpha", f"systemctl start {service}").returncode == 1
        # As in the AMI's unit: this is how a slurmd on the controller ruins the cluster.
        assert _run(own_machines, "alpha", "test -e /opt/slurm/etc/slurm.conf").returncode == 1

    def test_layout_is_that_of_the_ami(self, machines: Machines) -> None:
        output = _output(
            machines,
            "alpha",
            "realpath /opt/slurm /etc/slurm; /opt/slurm/sbin/slurmd -V;"
            "systemctl is-enabled slurmctld slurmd slurmdbd mariadb | uniq || true;"
            "stat -c '%U %n' /var/spool/slurmctld /var/log/slurm",
        )
        assert re.sub(r"(slurm-wlm .*)\.\d+", r"\1.x", output).splitlines() == [
            f"/opt/slurm-{DEFAULT_SLURM}",
            f"/opt/slurm-{DEFAULT_SLURM}/etc",
            f"slurm-wlm {DEFAULT_SLURM}.x",
            "disabled",
            "slurm /var/spool/slurmctld",
            "slurm /var/log/slurm",
        ]

    def _boot_controller(self, machines: Machines, key: File) -> None:
        files = {
            "/etc/munge/munge.key": key,
            "/opt/slurm/etc/slurm.conf": File(SLURM_CONF.encode(), mode=0o644),
            "/opt/slurm/etc/cgroup.conf": File(b"CgroupPlugin=disabled\n", mode=0o644),
            "/opt/slurm/etc/gres.conf": File(
                b"NodeName=worker-[1-2] Name=gpu File=/dev/nvidia[0-1]\n", mode=0o644
            ),
            "/opt/slurm/etc/slurmdbd.conf": File(SLURMDBD_CONF.encode(), owner="slurm"),
        }
        machines.boot(_spec("controller", 10, files))
