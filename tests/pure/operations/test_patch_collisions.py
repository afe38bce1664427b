"""Which running jobs an automatic patch would meet, and what `plan` says of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli.main import run
from slurmpod.cli.plan_patches import asked_text
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.patch_collisions import (
    Collisions,
    collisions_of,
    outlasting,
)
from slurmpod.problems import ExitCode
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from slurmpod.slurm.queue import read_queue
from tests.pure.operations.cluster_at_work import NOW, Cluster
from tests.sound_environment import SOUND

TOMORROW = NOW + timedelta(days=1)
IN_30_HOURS = f"{NOW + timedelta(hours=30):%Y-%m-%dT%H:%M:%S}"
IN_3_DAYS = f"{NOW + timedelta(days=3):%Y-%m-%dT%H:%M:%S}"
SQUEUE = f"""\
7|RUNNING|alice|cpu|2|1:00|{IN_30_HOURS}|ip-10-0-1-[1-2]|None|train | of all
8|RUNNING|bob|cpu|1|1:00|{IN_3_DAYS}|ip-10-0-1-3|None|long
9|RUNNING|carol|cpu|1|1:00|NONE|ip-10-0-1-4|None|endless
10|CONFIGURING|dave|cpu|1|0:00|N/A||None|waits
"""


@pytest.fixture(scope="module")
def resolved() -> Resolved:
    return resolve(read_as("dev.yaml", SOUND))


class Patched(Cluster):
    """A cluster whose workers are patched, on a date if there is one."""

    date: datetime | None = None

    def _group(self, name: str) -> dict[str, object]:
        schedule = {"CurrentPatchSchedule": {"NextPatchDate": self.date}} if self.date else {}
        config = {"AutoPatchConfig": {"PatchingStrategy": "WhenIdle", **schedule}}
        return {**super()._group(name), **(config if name == "workers" else {})}


def found(resolved: Resolved, date: datetime | None) -> Collisions:
    cluster = Patched()
    cluster.date = date
    cluster.answers["jobs"] = SQUEUE
    (only,) = collisions_of(cluster.clients(), resolved, cluster.sessions(), NOW)
    return only


@pytest.mark.parametrize(
    ("date", "ids"),
    [
        (None, ["7", "8", "9"]),
        (TOMORROW, ["8", "9"]),
        (NOW + timedelta(days=9), ["9"]),
    ],
)
def test_jobs_that_still_run_when_hyperpod_stops_waiting_collide(
    resolved: Resolved, date: datetime | None, ids: list[str]
) -> None:
    collisions = found(resolved, date)
    assert (collisions.group, collisions.strategy, collisions.begins) == (
        "workers",
        "WhenIdle",
        date,
    )
    assert [job.id for job in collisions.jobs] == ids


def test_jobs_on_other_groups_do_not() -> None:
    jobs = read_queue(SQUEUE)
    assert [job.id for job in outlasting(jobs, {"ip-10-0-1-9"}, NOW)] == []
    assert jobs[0].ends == NOW.astimezone(UTC) + timedelta(hours=30)
    assert [job.name for job in jobs] == ["train | of all", "long", "endless", "waits"]


def test_without_patches_slurm_is_not_asked(resolved: Resolved) -> None:
    cluster = Cluster()
    assert collisions_of(cluster.clients(), resolved, cluster.sessions(), NOW) == ()
    assert cluster.asked["session"] == 0


def test_a_controller_that_does_not_answer_is_told(resolved: Resolved) -> None:
    cluster = Patched(refused={"session": "TargetNotConnected"})
    cluster.nodes = cluster.nodes[1:]
    with pytest.raises(AwsUnavailable, match="no controller is in service"):
        collisions_of(cluster.clients(), resolved, cluster.sessions(), NOW)


def test_what_was_found_is_shown_job_by_job(resolved: Resolved) -> None:
    text = asked_text((found(resolved, TOMORROW),))
    assert "  workers (WhenIdle), on 2026-11-24 22:00 UTC: all nodes stop taking jobs" in text
    assert "    8  bob  long  until 2026-11-26 22:00 UTC  ip-10-0-1-3\n" in text
    assert "    9  carol  endless  without a time limit  ip-10-0-1-4\n" in text
    assert "no date is set; if now" in asked_text((found(resolved, None),))


def test_what_could_not_be_asked_is_unknown() -> None:
    assert "is unknown: no controller" in asked_text(Unavailable("no controller is in service"))
    assert asked_text(()) == ""


def test_without_a_cluster_plan_says_what_would_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "dev.yaml"
    patched = SOUND.replace(
        "partition: cpu", "partition: cpu\n      auto_patch: {strategy: WhenIdle}"
    )
    file.write_text(patched)
    assert run(["plan", str(file)]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "  workers (WhenIdle): all nodes stop taking jobs for up to 24 hours" in shown
    assert shown.endswith(f"would outlast it: slurmpod plan {file} --deployed\n")
    file.write_text(SOUND)
    assert run(["plan", str(file)]) == ExitCode.OK
    assert "Automatic patches" not in capsys.readouterr().out
