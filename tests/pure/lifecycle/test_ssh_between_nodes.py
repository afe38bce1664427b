"""One pair of keys for the image's user, and host keys that every node can look up."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.steps.ssh_between_nodes import (
    HOSTS_PROGRAM,
    KEY_PROGRAM,
    KEY_TEXT,
    PAIR_PROGRAM,
    PAIR_TEXT,
    SSH_CONF,
    SshBetweenNodes,
    hosts_program,
)
from tests.pure.lifecycle.fakes import LUSTRE, NODE_OPTIONS, machine_of, node

OPTIONS = replace(NODE_OPTIONS, ssh_between_nodes=True)
FOLDER = "/fsx/slurmpod/dev/ssh"
HOST_KEY = "ssh-ed25519 AAAA root@somewhere"
LINE = "ip-10-0-128-20,ip-10-0-128-20.*,10.0.128.20 ssh-ed25519 AAAA\n"


def step() -> SshBetweenNodes:
    step = SshBetweenNodes(node(Role.WORKER, node=OPTIONS))
    machine = machine_of(step.node)
    machine.reply("getent passwd ubuntu", "ubuntu:x:1000:1000::/home/ubuntu:/bin/bash\n")
    machine.files["/etc/ssh/ssh_host_ed25519_key.pub"] = f"{HOST_KEY}\n"
    machine.files[f"{FOLDER}/ubuntu/id_ed25519.pub"] = "ssh-ed25519 BBBB ubuntu\n"
    return step


class TestStep:
    def test_the_user_gets_the_pair_that_all_nodes_share(self) -> None:
        ssh = step()
        ssh.apply()
        ran = machine_of(ssh.node).ran
        assert f"{PAIR_PROGRAM} {FOLDER}/ubuntu {FOLDER}/ubuntu.ip-10-0-128-20 ubuntu" in ran
        assert f"runuser -u ubuntu -- {KEY_PROGRAM} {FOLDER}/ubuntu /home/ubuntu" in ran

    def test_a_node_is_known_by_its_name_and_its_address(self) -> None:
        ssh = step()
        ssh.apply()
        files = machine_of(ssh.node).files
        assert files[f"{FOLDER}/hosts/ip-10-0-128-20"] == LINE
        assert files[f"{FOLDER}/hosts/10.0.128.20"] == LINE
        assert f"KnownHostsCommand {HOSTS_PROGRAM} %H\n" in files[SSH_CONF]

    def test_a_second_run_finds_it_done_until_the_node_is_another(self) -> None:
        ssh = step()
        assert not ssh.is_done()
        ssh.apply()
        assert ssh.is_done()
        machine_of(ssh.node).files["/etc/ssh/ssh_host_ed25519_key.pub"] = "ssh-ed25519 CCCC x\n"
        assert not ssh.is_done()

    @pytest.mark.parametrize("systems", [(), (replace(LUSTRE, root_squash=True),)])
    def test_without_storage_for_it_it_says_so(self, systems: tuple[object, ...]) -> None:
        ssh = SshBetweenNodes(node(Role.WORKER, node=OPTIONS, file_systems=systems))
        with pytest.raises(StepFailed, match="no file system is shared by all nodes"):
            ssh.apply()


def run(program: str, *arguments: str) -> str:
    command = ["sh", "-c", program, "program", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class TestPrograms:
    """The programs themselves, but for the change of owners."""

    def pair(self, folder: Path, node: str) -> None:
        run(PAIR_TEXT.replace("chown", ": chown"), str(folder), f"{folder}.{node}", "ubuntu")

    def test_the_pair_is_made_once(self, tmp_path: Path) -> None:
        folder = tmp_path / "ssh" / "ubuntu"
        self.pair(folder, "n1")
        first = (folder / "id_ed25519").read_text()
        self.pair(folder, "n2")
        assert (folder / "id_ed25519").read_text() == first
        assert [path.name for path in folder.parent.iterdir()] == ["ubuntu"]
        assert folder.parent.stat().st_mode & 0o777 == 0o755
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_a_pair_that_somebody_else_has_put_there_is_not_taken(self, tmp_path: Path) -> None:
        folder = tmp_path / "ssh" / "ubuntu"
        folder.mkdir(parents=True)
        program = PAIR_TEXT.replace("stat -c", "echo 1;:")  # only root could make it so
        with pytest.raises(subprocess.CalledProcessError) as failure:
            run(program, str(folder), f"{folder}.n1", "ubuntu")
        assert failure.value.stderr == f"{folder.parent} belongs to another user\n"

    def test_of_two_nodes_at_once_the_first_one_wins(self, tmp_path: Path) -> None:
        folder = tmp_path / "ssh" / "ubuntu"
        meanwhile = f"mkdir -p {folder}; echo other >{folder}/id_ed25519"
        program = PAIR_TEXT.replace("chown -R", f"{meanwhile}; : chown")
        run(program, str(folder), f"{folder}.n1", "ubuntu")
        assert (folder / "id_ed25519").read_text() == "other\n"
        assert [path.name for path in folder.parent.iterdir()] == ["ubuntu"]

    def test_a_home_gets_the_pair_once_and_keeps_its_own_keys(self, tmp_path: Path) -> None:
        pair, home = tmp_path / "pair", tmp_path / "home"
        pair.mkdir()
        (home / ".ssh").mkdir(parents=True)
        (pair / "id_ed25519").write_text("secret\n")
        (pair / "id_ed25519.pub").write_text("ssh-ed25519 BBBB ubuntu\n")
        keys = home / ".ssh" / "authorized_keys"
        keys.write_text("ssh-rsa mine\n")
        for _ in range(2):
            run(KEY_TEXT, str(pair), str(home))
        assert keys.read_text() == "ssh-rsa mine\nssh-ed25519 BBBB ubuntu\n"
        assert (home / ".ssh" / "id_ed25519").read_text() == "secret\n"
        (home / ".ssh" / "id_ed25519").write_text("my own\n")
        run(KEY_TEXT, str(pair), str(home))
        assert (home / ".ssh" / "id_ed25519").read_text() == "my own\n"

    @pytest.mark.parametrize(
        ("host", "known"),
        [
            ("ip-10-0-0-1", True),
            ("ip-10-0-0-1.us-west-2.compute.internal", True),
            ("10.0.0.1", True),
            ("github.com", False),
            ("../secret", False),
        ],
    )
    def test_host_keys_are_those_of_nodes(self, tmp_path: Path, host: str, *, known: bool) -> None:
        hosts = tmp_path / "odd name"
        hosts.mkdir()
        (tmp_path / "secret").write_text("secret\n")
        for name in ("ip-10-0-0-1", "10.0.0.1"):
            (hosts / name).write_text(LINE)
        assert run(hosts_program(str(hosts)), host) == (LINE if known else "")
