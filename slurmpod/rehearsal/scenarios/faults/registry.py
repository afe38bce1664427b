"""All faults, in the order in which they are run and described."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rehearsal.scenarios.faults import (
    apt_locked,
    clock_skew,
    controller_killed,
    database_down,
    file_system_full,
    file_system_late,
    many_joining,
    names_gone,
    network_cut,
    network_lost,
    replacement_fails,
    root_disk_full,
    s3_away,
    scripts_twice,
    two_replaced,
    worker_dies_at_once,
    worker_power_cut,
    wrong_munge_key,
)

if TYPE_CHECKING:
    from slurmpod.rehearsal.scenarios.faults.fault import Fault

FAULTS: tuple[Fault, ...] = (
    worker_power_cut.FAULT,
    worker_dies_at_once.FAULT,
    controller_killed.FAULT,
    database_down.FAULT,
    network_cut.FAULT,
    network_lost.FAULT,
    file_system_late.FAULT,
    file_system_full.FAULT,
    root_disk_full.FAULT,
    s3_away.FAULT,
    apt_locked.FAULT,
    names_gone.FAULT,
    clock_skew.FAULT,
    scripts_twice.FAULT,
    two_replaced.FAULT,
    replacement_fails.FAULT,
    wrong_munge_key.FAULT,
    many_joining.FAULT,
)
