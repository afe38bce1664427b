"""Rotation of logs, beside whatever the image rotates already."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.log_rotation import (
    CANDIDATE,
    OTHERS_ROTATE_SLURM,
    PATH,
    LogRotation,
)
from tests.pure.lifecycle.fakes import NODE_OPTIONS, machine_of, node

OTHERS = " ".join(OTHERS_ROTATE_SLURM)


def step_of(role: Role = Role.WORKER) -> LogRotation:
    step = LogRotation(node(role))
    machine_of(step.node).fail(OTHERS)
    return step


def test_slurms_logs_and_ours_are_rotated_once() -> None:
    step = step_of()
    assert not step.is_done()
    assert step.apply() == "Slurm's logs and ours"
    text = machine_of(step.node).files[PATH]
    assert text.count("/var/log/slurm/*.log {") == 1
    assert text.count("/var/log/provision/*.log {") == 1
    assert step.is_done()
    step.apply()
    assert machine_of(step.node).files[PATH] == text


def test_the_daemons_open_new_files() -> None:
    step = step_of(Role.CONTROLLER)
    step.apply()
    text = machine_of(step.node).files[PATH]
    slurm, _, ours = text.partition("/var/log/provision")
    assert 'pkill --exact --signal SIGUSR2 "$daemon"' in slurm
    assert "copytruncate" not in slurm
    assert "copytruncate" in ours


def test_whoever_rotates_slurms_logs_already_keeps_them() -> None:
    step = step_of()
    machine_of(step.node).reply(OTHERS, "")
    assert step.apply() == "our logs; others rotate Slurm's"
    assert "/var/log/slurm" not in machine_of(step.node).files[PATH]
    assert step.is_done()


def test_when_the_image_begins_to_do_it_ours_gives_way() -> None:
    step = step_of()
    step.apply()
    machine_of(step.node).reply(OTHERS, "")
    assert not step.is_done()
    step.apply()
    assert "/var/log/slurm" not in machine_of(step.node).files[PATH]


def test_what_logrotate_refuses_is_not_given_to_it() -> None:
    step = step_of()
    machine_of(step.node).fail("/usr/sbin/logrotate --debug", "unexpected text")
    with pytest.raises(StepFailed, match="unexpected text") as failure:
        step.apply()
    assert not isinstance(failure.value, NotYet)
    assert PATH not in machine_of(step.node).files
    assert machine_of(step.node).ran[-1] == f"/usr/sbin/logrotate --debug {CANDIDATE}"


def test_who_rotates_logs_otherwise_switches_it_off() -> None:
    off = replace(NODE_OPTIONS, rotate_logs=False)
    assert not LogRotation.applies_to(node(Role.WORKER, node=off))
    assert not LogRotation.required
