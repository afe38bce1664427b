"""Hosts of ssh: who may have them, what stands in the file, and how ssh comes to read it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.ssh_config import (
    INCLUDE,
    config_text,
    hosts_of,
    include,
    is_included,
    require_unrecorded,
    user_of,
    write_config,
)
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.nodes import live
from tests.sound_environment import SOUND

NODES = (
    live("controller", "i-0", "ip-0", "Running"),
    live("workers", "i-1", "ip-1", "Running"),
    live("workers", "i-2", "ip-2", "Pending"),
    live("workers", "i-3", "ip-3", "Running"),
)
ALICE = "access: {users: [{name: alice, uid: 20001}]}\n"


def dev(more: str = "") -> Resolved:
    return resolve(read_as("dev.yaml", SOUND + more))


def test_the_running_nodes_are_hosts_and_the_first_has_the_name_of_its_group() -> None:
    hosts = hosts_of(dev(), "abc", NODES)
    assert [host.aliases for host in hosts] == [
        ("dev-controller", "dev-controller-1"),
        ("dev-workers", "dev-workers-1"),
        ("dev-workers-2",),
    ]


@pytest.mark.skipif(not shutil.which("ssh"), reason="needs ssh")
def test_ssh_reads_what_is_written(tmp_path: Path) -> None:
    text = config_text(dev(), hosts_of(dev(), "abc", NODES), "alice")
    file = write_config(tmp_path, "dev", text)
    assert file.stat().st_mode & 0o777 == 0o600
    asked = ["ssh", "-G", "-F", str(file), "dev-workers-2"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert "\nuser alice\n" in f"\n{shown}"
    assert "hostkeyalias i-3\n" in shown
    assert "--target sagemaker-cluster:abc_workers-i-3 --document-name AWS-StartSSHSession" in shown


def test_ssh_is_ruled_out_where_sessions_are_recorded() -> None:
    require_unrecorded(dev())
    require_unrecorded(dev("access: {sessions: {record: none}}\n"))
    with pytest.raises(AwsUnavailable, match=r"records its sessions .*leaves no record"):
        require_unrecorded(dev("access: {sessions: {}}\n"))


def test_it_is_for_users_of_the_environment() -> None:
    assert user_of(dev(ALICE), None, "alice") == "alice"
    assert user_of(dev(ALICE), "alice", "me") == "alice"
    with pytest.raises(AwsUnavailable, match="no user me; its users are alice"):
        user_of(dev(ALICE), None, "me")
    with pytest.raises(AwsUnavailable, match="has no users: add access"):
        user_of(dev(), None, "me")


def test_the_own_configuration_includes_ours_once_and_first(tmp_path: Path) -> None:
    own = "Host example\n    User me\n"
    (tmp_path / "config").write_text(own)
    assert not is_included(tmp_path)
    include(tmp_path)
    assert is_included(tmp_path)
    assert (tmp_path / "config").read_text() == f"{INCLUDE}\n{own}"
    (tmp_path / "config").write_text(f"{own}{INCLUDE}\n")
    assert not is_included(tmp_path)  # it would count for that host alone
