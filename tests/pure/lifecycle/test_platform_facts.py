"""What HyperPod has put on a node, as the node tells it: without anything secret."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from slurmpod_lifecycle import platform_facts as module
from slurmpod_lifecycle.dry_run import only_asks
from slurmpod_lifecycle.platform_facts import platform_facts, without_secrets

SLURMD = """\
[Service]
EnvironmentFile=-/opt/slurm/etc/default/slurmd
Environment=DB_PASSWORD=hunter2
ExecStart=/opt/slurm/sbin/slurmd -D $SLURMD_OPTIONS
"""
FILES = {
    "/etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n',
    "/proc/self/mounts": (
        "/dev/root / ext4 rw 0 0\n"
        "/dev/nvme1n1 /opt/sagemaker xfs rw 0 0\n"
        "10.0.0.9@tcp:/abcdefgh /fsx lustre rw 0 0\n"
    ),
    "/etc/systemd/system/slurmd.service": SLURMD,
    "/opt/slurm/etc/default/slurmd": "SLURMD_OPTIONS=--conf-server=hunter2\n# A comment\n",
    "/opt/slurm/etc/slurm.conf": "ClusterName=a\nAccountingStoragePass=hunter2\n#Pass: hunter2\n",
    "/opt/slurm/etc/slurmdbd.conf": "StoragePass=hunter2\n",
    "/opt/slurm/etc/accounting.conf": (
        "AccountingStoragePort=6819\nAccountingStoragePass=hunter2\n"
    ),
}
ANSWERS = {
    "/opt/slurm/bin/sinfo --version": "slurm 24.11.5\n",
    "uname": "6.8.0-1031-aws\n",
    "readlink": "/opt/slurm-24.11\n",
    "find /opt -maxdepth": "/opt/slurm-25.11\n/opt/slurm-24.11\n",
    "find /opt/slurm/etc/": "/opt/slurm/etc/slurm.conf\n/opt/slurm/etc/default/slurmd\n",
    "find /var/log/aws/clusters/": "/var/log/aws/clusters/sagemaker-host-agent.log\n",
    "ip": "default via 10.0.0.1 dev enp107s0 proto dhcp \n",
    "id -u ubuntu": "1000\n",
    "curl": "<html>hunter2</html>401",
    "which docker": "/usr/bin/docker\n",
    "systemctl show": (
        "Id=slurmctld.service\nFragmentPath=\n\n"
        "Id=slurmd.service\nFragmentPath=/etc/systemd/system/slurmd.service\n"
    ),
}


class Node:
    """A node with these files and answers; all else fails."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def said(self, *command: str) -> str | None:
        self.asked.append([*command])
        line = " ".join(command)
        return next((text for start, text in ANSWERS.items() if line.startswith(start)), None)

    def read(self, path: str) -> str | None:
        return FILES.get(path)


def test_a_node_tells_what_a_profile_holds() -> None:
    assert platform_facts(Node()) == {
        "versions": ["slurm 24.11.5", "Ubuntu 22.04.5 LTS", "6.8.0-1031-aws"],
        "slurm_trees": ["slurm-25.11", "slurm-24.11"],
        "interface": "enp107s0",
        "users": {"ubuntu": 1000},
        "disks": ["/opt/sagemaker"],
        "metadata_needs_token": True,
        "agent_logs": ["sagemaker-host-agent.log"],
        "software": {
            "docker": True,
            "enroot": False,
            "pyxis": False,
            "mariadb": False,
            "pam_slurm_adopt": False,
        },
        "units": {"slurmd": without_secrets(SLURMD)},
        "options": {"/opt/slurm/etc/default/slurmd": ["SLURMD_OPTIONS"]},
        "etc": ["default/slurmd", "slurm.conf"],
        "accounting_conf": "AccountingStoragePort=6819\n",
        "slurm_files": {"slurm.conf": "ClusterName=a\n"},
    }


def test_nothing_secret_leaves_the_node() -> None:
    assert "hunter2" not in json.dumps(platform_facts(Node()))


def test_it_only_asks() -> None:
    node = Node()
    platform_facts(node)
    assert [command for command in node.asked if not only_asks(command)] == []


def test_it_is_a_program_that_needs_nothing_but_python() -> None:
    program = Path(module.__file__).read_text(encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    told = json.loads(ended.stdout)
    assert told["now"].keys() == platform_facts(Node()).keys()
    assert "at_first" in told
