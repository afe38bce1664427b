"""Who holds which GPUs, and which of them nobody uses: a part of `slurmpod status`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.gpu_use import BOTH
from slurmpod.operations.status import Status, status_of
from slurmpod.reading.read import read
from slurmpod.resolve import Resolved
from slurmpod.rules.check import sound
from tests.pure.operations.cluster_at_work import NOW, Cluster
from tests.pure.operations.test_status import line, screen
from tests.sound_environment import SOUND

WITH_GPUS = SOUND.replace("ml.m5.xlarge", "ml.g5.12xlarge")
MEASURED = f"{WITH_GPUS}monitoring: {{prometheus: {{}}}}\n"
SQUEUE = """\
7|RUNNING|alice|cpu|2|1:02:03|NONE|ip-10-0-1-[1-2]|None|train
9_4|RUNNING|bob|cpu|1|0:03|NONE|ip-10-0-1-3|None|sweep
11|RUNNING|carol|cpu|1|0:03|NONE|ip-10-0-1-3|None|no GPUs
"""
HELD = """\
JobId=7 JobName=train |     Nodes=ip-10-0-1-[1-2] CPU_IDs=0-95 Mem=0 GRES=gpu:4(IDX:0-3)
JobId=12 ArrayJobId=9 ArrayTaskId=4|     Nodes=ip-10-0-1-3 CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0,2)
all
"""


@pytest.fixture
def environment(tmp_path: Path, request: pytest.FixtureRequest) -> Resolved:
    (tmp_path / "dev.yaml").write_text(getattr(request, "param", MEASURED))
    return sound(read(tmp_path / "dev.yaml")).resolved


def status(
    environment: Resolved,
    held: str = HELD,
    use: Mapping[str, tuple[float, int]] | None = None,
    refused: Mapping[str, str] | None = None,
) -> Status:
    cluster = Cluster(squeue=SQUEUE, gpus=held, gpu_use=use, refused=refused)
    return status_of(cluster.sources(), environment, NOW)


def test_each_job_is_told_with_its_user_its_gpus_and_their_use(environment: Resolved) -> None:
    page = screen(status(environment, use={"7": (0.97, 0)}))
    assert line(page, "held by") == "GPUs 10 held by 2 jobs of 2 users"
    assert line(page, "0-3") == "7 alice 8 ip-10-0-1-[1-2]: 0-3 97% busy"
    assert line(page, "0,2") == "9_4 bob 2 ip-10-0-1-3: 0,2 not measured"


def test_who_leaves_some_idle_comes_first(environment: Resolved) -> None:
    page = screen(status(environment, use={"7": (0.97, 0), "9_4": (0.4, 1)}))
    assert line(page, "0,2") == "9_4 bob 2 ip-10-0-1-3: 0,2 40% busy, 1 idle for an hour"
    first, second = (at for at, each in enumerate(page) if "busy" in each)
    assert "bob" in page[first]
    assert "alice" in page[second]


def test_the_screen_is_no_wider_than_the_terminal(environment: Resolved) -> None:
    page = screen(status(environment, use={"7": (0.0, 8)}), width=80)
    assert max(map(len, page)) <= 80


@pytest.mark.parametrize(
    "forged",
    [
        "JobId=11 JobName=x |     Nodes=ip-10-0-1-9 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:0)",
        "JobId=99 JobName=x |     Nodes=ip-10-0-1-3 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:0)",
        "JobId=11 JobName=x |     Nodes=ip-10-0-1-3 CPU_IDs=0 Mem=0 GRES=nic:1(IDX:0)",
        "slurm_load_jobs error: Unable to contact slurm controller",
    ],
)
def test_only_what_squeue_confirms_counts(environment: Resolved, forged: str) -> None:
    page = screen(status(environment, held=f"{forged}\n{HELD}"))
    assert line(page, "held by") == "GPUs 10 held by 2 jobs of 2 users"


def test_nothing_held_is_said(environment: Resolved) -> None:
    assert (
        line(screen(status(environment, held="all\n")), "not allocated")
        == "GPUs not allocated to any job"
    )


def test_where_slurm_does_not_tell_nobody_is_said_to_hold_none(environment: Resolved) -> None:
    page = screen(status(environment, held=""))
    assert (
        line(page, "does not report") == "GPUs unknown: Slurm does not report which jobs hold them"
    )


@pytest.mark.parametrize("environment", [WITH_GPUS], indirect=True)
def test_without_metrics_nobody_knows_what_gpus_do(environment: Resolved) -> None:
    page = screen(status(environment))
    assert line(page, "use un") == "use unknown: `monitoring.prometheus` is needed to measure it"


def test_who_may_not_ask_for_metrics_sees_who_holds_them(environment: Resolved) -> None:
    found = status(environment, refused={BOTH: "AccessDeniedException"})
    assert isinstance(found.gpu_use, Unavailable)
    assert line(screen(found), "use un").startswith("use unknown: cannot ask Prometheus")
    assert line(screen(found), "0-3")


@pytest.mark.parametrize("environment", [SOUND], indirect=True)
def test_without_gpus_there_is_no_such_part(environment: Resolved) -> None:
    found = status(environment)
    assert found.gpu_use is None
    assert not [each for each in screen(found) if each.startswith("GPUs")]
