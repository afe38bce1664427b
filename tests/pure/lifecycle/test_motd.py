"""What people read when they log in."""

from __future__ import annotations

from dataclasses import replace

from slurmpod_lifecycle.settings import Hardware, Role
from slurmpod_lifecycle.steps.motd import PATH, Motd, message
from tests.pure.lifecycle.fakes import BUCKET, LUSTRE, NODE_OPTIONS, OPENZFS, machine_of, node

P5 = Hardware("x86_64", "gpu", 8, 32, nvme_gb=30720)
OPTIONS = replace(
    NODE_OPTIONS,
    instance_types={"hands": ("ml.p5.48xlarge",)},
    hardware={"ml.p5.48xlarge": P5},
    motd=True,
)


def test_it_is_there_when_it_is_asked_for() -> None:
    assert Motd.applies_to(node(Role.LOGIN, node=OPTIONS))
    assert not Motd.applies_to(node(Role.LOGIN))
    step = Motd(node(Role.LOGIN, node=OPTIONS))
    assert not step.is_done()
    step.apply()
    assert step.is_done()
    assert machine_of(step.node).access == {PATH: (0o644, "")}


def test_it_says_where_people_are() -> None:
    text = message(node(Role.CONTROLLER, node=OPTIONS))
    assert "Cluster dev: ip-10-0-128-10, group head" in text
    assert "please work elsewhere" in text
    assert "please work elsewhere" not in message(node(Role.LOGIN, node=OPTIONS))


def test_it_says_what_is_where() -> None:
    options = replace(OPTIONS, scratch_path="/scratch")
    worker = node(Role.WORKER, node=options, file_systems=(LUSTRE, OPENZFS), s3_mounts=(BUCKET,))
    lines = [line.split(maxsplit=1) for line in message(worker).splitlines()]
    assert ["/fsx", "shared by all nodes"] in lines
    assert ["/home", "shared by all nodes"] in lines
    assert ["/data", "bucket training-data, read only"] in lines
    assert ["/scratch", "30720 GB of this node's own, not kept over a reboot"] in lines


def test_a_node_without_disks_promises_no_scratch() -> None:
    without = {"ml.p5.48xlarge": replace(P5, nvme_gb=0)}
    options = replace(OPTIONS, scratch_path="/scratch", hardware=without)
    assert "/scratch" not in message(node(Role.WORKER, node=options))


def test_it_has_no_lines_of_blanks() -> None:
    lines = message(node(Role.WORKER, node=OPTIONS)).splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert max(map(len, lines)) < 80
