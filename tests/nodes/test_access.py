"""Users on real nodes: ids, homes, keys, sudo, jobs in their accounts, and a user who leaves."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.shell import CommandFailed, Shell
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import BUCKET, HyperPodLab, hostname
from tests.nodes.hyperpod_lab import group as group_by_api
from tests.nodes.test_lifecycle_bundles import by_api, customer_group, upload

ENVIRONMENT = """
edition: 2026
name: people
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: door, role: login, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.m5.large, partition: cpu}}
slurm:
  qos:
    - {{name: urgent, priority: 10}}
  accounts:
    - {{name: research, qos: [normal, urgent]}}
    - {{name: teaching}}
  fair_share: {{}}
access:
  groups:
    - {{name: lab, gid: 30001}}
    - {{name: vision, gid: 30002}}
  users:
    - name: alice
      uid: 20001
      full_name: Alice O'Neil $(id) `id` %u \\\\
      group: lab
      groups: [vision]
      ssh_keys: ["{key}"]
      accounts: [teaching, research]
      default_account: research
      qos: [urgent]
      shares: 7
      admin: true
    - {{name: bob, uid: 20002, ssh_keys: ["{key}"]}}
"""
GROUPS = {"head": "Controller", "door": "Login", "cpu": "Compute"}
"""The Slurm role of a group, by its name."""
FULL_NAME = "Alice O'Neil $(id) `id` %u \\\\"
SCRIPTS = f"/tmp/{BUCKET}/people"  # noqa: S108  # HyperPod's path
ENTRY = f"cd {SCRIPTS} && bash ./on_init_complete.sh 2>&1"


class People:
    """A cluster with users, and the key with which they log in from outside."""

    def __init__(self, lab: HyperPodLab, key: Path) -> None:
        self.lab = lab
        self.key_file = key

    def shell(self, group: str, user: str = "root") -> Shell:
        return self.lab.shell("people", group, user=user)

    def root(self, group: str, command: str) -> str:
        return self.shell(group).run(["sh", "-c", command])

    def host(self, group: str) -> str:
        return hostname(self.lab.nodes("people", group)[0])

    def comes_in(self, user: str, group: str) -> str:
        """Log in from the login node to another as a user with the key of the environment."""
        self.shell("door").run(["install", "-m", "600", "/dev/stdin", "/root/key"], stdin=self.key)
        return self.root(
            "door", f"ssh -i /root/key {self.options} {user}@{self.host(group)} id -un 2>&1 || :"
        )

    @property
    def key(self) -> str:
        return self.key_file.read_text()

    @property
    def public_key(self) -> str:
        return self.key_file.with_suffix(".pub").read_text().strip()

    @property
    def options(self) -> str:
        return "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"

    def without(self, user: str, group: str) -> str:
        """Run the scripts of a node again as if the environment had lost a user."""
        settings = json.loads(self.root(group, f"cat {SCRIPTS}/settings.json"))
        access = settings["access"]
        for part in ("users", "groups"):
            access[part] = [each for each in access[part] if each["name"] != user]
        return self.again(group, json.dumps(settings))

    def again(self, group: str, settings: str) -> str:
        """Run the scripts of a node with other settings, and restore the first ones."""
        shell = self.shell(group)
        shell.run(["cp", f"{SCRIPTS}/settings.json", "/root/settings.json"])
        shell.run(["tee", f"{SCRIPTS}/settings.json"], stdin=settings)
        try:
            return self.root(group, f"({ENTRY}) || :")
        finally:
            shell.run(["cp", "/root/settings.json", f"{SCRIPTS}/settings.json"])


@pytest.fixture(scope="module")
def people(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("people")
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    public = key.with_suffix(".pub").read_text().strip()
    (folder / "lab").mkdir()
    with HyperPodLab(folder / "lab", image) as lab:
        common = by_api(lab, upload(lab, ENVIRONMENT.format(key=public)))
        groups = [group_by_api(name, node_type, **common) for name, node_type in GROUPS.items()]
        lab.create_continuously("people", groups)
        yield People(lab, key)


class TestOnNodes:
    def test_everybody_has_the_same_ids_on_all_of_them(self, people: People) -> None:
        for group in GROUPS:
            assert people.root(group, "id alice; id bob").splitlines() == [
                "uid=20001(alice) gid=30001(lab) groups=30001(lab),30002(vision)",
                "uid=20002(bob) gid=20002(bob) groups=20002(bob)",
            ]

    def test_odd_names_arrive_as_they_are(self, people: People) -> None:
        entry = people.root("cpu", "getent passwd alice")
        assert entry.split(":")[4:] == [FULL_NAME, "/fsx/home/alice", "/bin/bash"]

    def test_homes_are_shared_and_closed_to_others(self, people: People) -> None:
        people.shell("door", "alice").run(["sh", "-c", "echo hello >~/greeting"])
        seen = people.root("head", "stat -c '%u:%g %a' /fsx/home/alice /fsx/home/alice/greeting")
        assert seen.splitlines()[0] == "20001:30001 700"
        assert seen.splitlines()[1].startswith("20001:30001 ")
        assert people.shell("cpu", "alice").run(["cat", "/fsx/home/alice/greeting"]) == "hello"
        with pytest.raises(CommandFailed, match="Permission denied"):
            people.shell("cpu", "bob").run(["cat", "/fsx/home/alice/greeting"])

    def test_no_half_made_home_is_left(self, people: People) -> None:
        assert people.root("head", "ls -A /fsx/home").split() == ["alice", "bob"]

    def test_they_go_from_node_to_node_without_a_password(self, people: People) -> None:
        for source, target in (("door", "cpu"), ("cpu", "head")):
            command = f"ssh {people.options} {people.host(target)} hostname"
            said = people.shell(source, "alice").run(["sh", "-c", command])
            assert said.splitlines()[-1] == people.host(target)

    def test_they_come_in_with_the_key_of_the_environment(self, people: People) -> None:
        assert people.comes_in("alice", "cpu").splitlines()[-1] == "alice"
        assert people.comes_in("bob", "door").splitlines()[-1] == "bob"

    def test_only_administrators_become_root(self, people: People) -> None:
        for group in GROUPS:
            assert people.shell(group, "alice").run(["sudo", "-n", "id", "-un"]) == "root"
            with pytest.raises(CommandFailed, match="password is required"):
                people.shell(group, "bob").run(["sudo", "-n", "id", "-un"])

    def test_they_come_in_with_ssh_and_scp_through_session_manager(
        self, people: People, tmp_path: Path
    ) -> None:
        file = tmp_path / "people.yaml"
        file.write_text(ENVIRONMENT.format(key=people.public_key))
        written = people.lab.slurmpod(
            "ssh-config", str(file), "--user", "alice", HOME=str(tmp_path)
        )
        assert written.returncode == 0, written.stderr
        config = tmp_path / ".ssh/slurmpod/people.conf"
        master = ["-o", f"ControlPath={tmp_path}/master", "-o", "BatchMode=yes"]
        ours = ["-F", str(config), "-i", str(people.key_file), *master]
        hosts = ["-o", f"UserKnownHostsFile={tmp_path}/known_hosts"]

        def run(*command: str) -> str:
            ended = subprocess.run(
                command, env=people.lab.person(), capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, ended.stderr
            return ended.stdout

        where = run("ssh", *ours, *hosts, "-o", "ControlMaster=auto", "-o", "ControlPersist=60",
                    "people-door", "id -un; hostname")  # fmt: skip
        assert where.split() == ["alice", people.host("door")]
        run("scp", *ours, str(config), "people-door:copied")
        copied = people.shell("door", "alice").run(["sh", "-c", "cat ~/copied"])
        assert copied == config.read_text().rstrip()
        run("ssh", *ours, "-O", "forward", "-L", f"{tmp_path}/sshd:localhost:22", "people-door")
        with socket.socket(socket.AF_UNIX) as forwarded:
            forwarded.connect(f"{tmp_path}/sshd")
            assert forwarded.recv(8).startswith(b"SSH-2.0")
        run("ssh", *ours, "-O", "exit", "people-door")


class TestInSlurm:
    def test_they_have_their_accounts_shares_and_qos(self, people: People) -> None:
        columns = "account,user,share,qos,defaultqos"
        shown = people.root("head", f"sacctmgr -nP show associations format={columns}")
        assert set(shown.splitlines()) >= {
            "research|alice|7|urgent|urgent",
            "teaching|alice|7|urgent|urgent",
            "research|bob|1|normal,urgent|normal",
            "teaching|bob|1|normal|normal",
        }
        people_shown = "sacctmgr -nP show user format=user,defaultaccount,adminlevel"
        assert set(people.root("head", people_shown).splitlines()) >= {
            "alice|research|Administrator",
            "bob|research|None",
        }

    def test_jobs_run_in_the_name_of_their_owner(self, people: People) -> None:
        alice = people.shell("door", "alice")
        script = "srun --chdir=$HOME sh -c 'id -u; id -gn; pwd'"
        assert alice.run(["sh", "-c", script]).split() == ["20001", "lab", "/fsx/home/alice"]
        alice.run(["srun", "--account=teaching", "--chdir=/tmp", "true"])
        ask = ["sacct", "-X", "-nP", "--format=user,account,qos,state"]
        done = ["alice|research|urgent|COMPLETED", "alice|teaching|urgent|COMPLETED"]
        wait_until(lambda: alice.run(ask).splitlines() == done, "the records of two jobs")

    def test_nobody_uses_what_others_have(self, people: People) -> None:
        with pytest.raises(CommandFailed, match="Invalid qos specification"):
            people.shell("door", "alice").run(["srun", "--chdir=/tmp", "--qos=normal", "true"])

    def test_administrators_manage_slurm(self, people: People) -> None:
        command = ["scontrol", "update", "partitionname=cpu", "priorityjobfactor=1"]
        people.shell("door", "alice").run(command)
        with pytest.raises(CommandFailed, match="Invalid user id"):
            people.shell("door", "bob").run(command)


class TestLater:
    def test_a_second_run_of_the_scripts_changes_nothing(self, people: People) -> None:
        for group in GROUPS:
            again = people.root(group, ENTRY)
            for step in ("users", "logins", "homes"):
                assert f"{step}: already done" in again, again
        assert "associations: already done" in people.root("head", ENTRY)

    def test_ids_do_not_change(self, people: People) -> None:
        settings = json.loads(people.root("cpu", f"cat {SCRIPTS}/settings.json"))
        settings["access"]["users"][0]["uid"] = 20009
        last = people.again("cpu", json.dumps(settings)).splitlines()[-1]
        assert last.startswith(
            "FAILED: users: the user alice has the id 20001 on this node, not 20009; fix: "
        )

    def test_an_id_with_files_goes_to_nobody_else(self, people: People) -> None:
        settings = json.loads(people.root("cpu", f"cat {SCRIPTS}/settings.json"))
        [bob] = [user for user in settings["access"]["users"] if user["name"] == "bob"]
        settings["access"]["users"].append(
            {**bob, "name": "eve", "uid": 20007, "home": "/fsx/home/eve", "associations": []}
        )
        people.root("head", "install -d -o 20007 /fsx/home/carl")
        last = people.again("cpu", json.dumps(settings)).splitlines()[-1]
        people.root("head", "rmdir /fsx/home/carl")
        assert last.startswith(
            "FAILED: homes: /fsx/home/carl belongs to the id 20007, now the id of eve; fix: "
        )

    def test_who_leaves_is_locked_and_loses_no_file_and_no_record(self, people: People) -> None:
        people.shell("door", "bob").run(["sh", "-c", "echo mine >~/file; srun --chdir=/tmp true"])
        for group in GROUPS:
            assert "OK: " in people.without("bob", group).splitlines()[-1]
            assert people.root(group, "getent shadow bob").split(":")[7] == "1"
            assert "bob" not in people.comes_in("bob", group).splitlines()[-1:]
            assert people.comes_in("alice", group).splitlines()[-1] == "alice"
        assert people.root("head", "cat /fsx/home/bob/file") == "mine"
        barred = people.root(
            "head", "sacctmgr -nP show assoc user=bob format=account,maxsubmitjobs"
        )
        assert set(barred.splitlines()) == {"research|0", "teaching|0"}
        assert "bob" in people.root("head", "sacct -a -X -nP --format=user")

    def test_who_comes_back_is_let_in(self, people: People) -> None:
        for group in GROUPS:
            assert people.root(group, ENTRY).splitlines()[-1].startswith("OK: ")
        assert people.comes_in("bob", "cpu").splitlines()[-1] == "bob"
        assert people.shell("door", "bob").run(["srun", "--chdir=/tmp", "id", "-un"]) == "bob"


def test_people_come_to_nodes_that_our_scripts_have_set_up(people: People) -> None:
    lab = people.lab
    lab.delete("people")
    text = ENVIRONMENT.format(key=people.public_key).replace("name: people", "name: more")
    uri = upload(lab, f"{text}lifecycle: {{mode: customer}}\n")
    cluster = lab.create("more", [customer_group(name, uri) for name in GROUPS])
    assert cluster.get("FailureMessage") is None
    alice = lab.shell("more", "door", user="alice")
    assert alice.run(["srun", "--chdir=/tmp", "id", "-u"]) == "20001"
    ask = ["sacct", "-X", "-nP", "--format=user,account,qos,state"]
    wait_until(lambda: alice.run(ask) == "alice|research|urgent|COMPLETED", "the job's record")
