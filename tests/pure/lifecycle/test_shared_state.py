"""The folder that several controllers have in common."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.steps.shared_state import (
    TAKEOVER_PROGRAM,
    SharedState,
    drop_in,
    takeover_program,
)
from tests.pure.lifecycle.fakes import TWO_HEADS, controller_of_two, machine_of, node

FOLDER = "/fsx/slurmpod/dev/state"
DROP_IN = "/etc/systemd/system/slurmctld.service.d/slurmpod.conf"
TOPIC = "arn:aws:sns:us-east-1:123456789012:takeover"


def test_slurmctld_finds_it_where_slurm_conf_says() -> None:
    step = SharedState(controller_of_two())
    assert not step.is_done()
    assert step.apply() == f"the controllers share their state in {FOLDER}"
    machine = machine_of(step.node)
    assert machine.did(f"install --directory --owner=slurm --group=slurm --mode=700 {FOLDER}")
    assert machine.files[DROP_IN] == drop_in(FOLDER)
    assert f"BindPaths={FOLDER}:/var/spool/slurmctld\n" in drop_in(FOLDER)
    assert f"RequiresMountsFor={FOLDER}\n" in drop_in(FOLDER)
    assert step.is_done()


def test_one_controller_keeps_its_state_to_itself() -> None:
    assert not SharedState.applies_to(node(Role.CONTROLLER))
    assert not SharedState.applies_to(node(Role.WORKER, multi_head=TWO_HEADS))
    assert not SharedState.applies_to(controller_of_two(mode=Mode.EXTENDED))
    assert SharedState.applies_to(controller_of_two())


def run(tmp_path: Path, program: str) -> str:
    """Run the takeover program with an `aws` that prints its arguments."""
    (tmp_path / "aws").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "aws").chmod(0o755)
    (tmp_path / "program").write_text(program)
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    command = ["sh", str(tmp_path / "program")]
    return subprocess.run(command, env=path, check=True, capture_output=True, text=True).stdout


def test_the_topic_is_told_who_took_over(tmp_path: Path) -> None:
    step = SharedState(controller_of_two())
    step.apply()
    assert run(tmp_path, machine_of(step.node).files[TAKEOVER_PROGRAM]) == ""
    told = node(Role.CONTROLLER, multi_head=replace(TWO_HEADS, sns_topic_arn=TOPIC))
    printed = run(tmp_path, takeover_program(told)).splitlines()
    assert printed == [
        *("sns", "publish", "--region", "us-east-1", "--topic-arn", TOPIC, "--message"),
        "ip-10-0-128-10 is now the active Slurm controller of dev",
    ]
