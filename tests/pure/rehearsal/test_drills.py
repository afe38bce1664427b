"""What a drill makes of a job's log, and how it tells it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from slurmpod.operations.node_shell import CommandFailed
from slurmpod.rehearsal.drills import job_run
from slurmpod.rehearsal.drills.drill import DrillReport
from slurmpod.rehearsal.drills.job_run import JobRun, follow
from slurmpod.rehearsal.drills.losses import printed_losses, step_restarts
from slurmpod.rehearsal.faults.watch import FaultFailed, Silence
from slurmpod.rehearsal.faults_report import print_drills


def log(*steps: int, label: str = "0: ") -> str:
    return "".join(f"{label}step {step} loss {1 / step:.6f} rate 1.0e-03\n" for step in steps)


@pytest.mark.parametrize(
    "line",
    [
        "step 12 loss 0.5 rate 1e-3",
        "0: Step: 12, Loss: 0.5",
        "[rank0] step=12/100 lr=1e-4 loss=0.5 tokens/s=3",
        "{'step': 12, 'loss': 0.5}",
        '{"loss": 0.5, "step": 12}',
    ],
)
def test_a_line_with_a_step_and_a_loss_is_understood(line: str) -> None:
    assert printed_losses(f"starting\n{line}\n").lines == [(12, "0.5")]


def test_other_lines_are_none_of_a_training() -> None:
    assert printed_losses("step 3 is slow\nloss of node 4\nsteps: 10 losses 3\n").lines == []


def test_losses_may_be_no_numbers() -> None:
    assert printed_losses("step 1 loss nan\nstep 2 loss 1e-05\n").lines == [
        (1, "nan"),
        (2, "1e-05"),
    ]


def test_of_labelled_processes_one_tells() -> None:
    both = log(1, 2) + log(1, 2, 3, label="1: ")
    assert [step for step, _ in printed_losses(both).lines] == [1, 2]


def test_what_was_done_again_is_what_came_after_the_last_checkpoint() -> None:
    losses = printed_losses(log(*range(1, 34), *range(21, 41), *range(31, 61)))
    assert losses.resumed_after == (20, 30)
    assert losses.steps_again == 13 + 10
    assert losses.last_step == 60


def test_a_single_step_that_is_done_again_counts() -> None:
    losses = printed_losses(log(1, 2, 3, 3, 4))
    assert (losses.resumed_after, losses.steps_again) == ((2,), 1)


def test_processes_without_labels_do_nothing_again() -> None:
    losses = printed_losses(log(1, 1, 2, 2, 3, 3, label=""))
    assert (losses.resumed_after, losses.steps_again) == ((), 0)


def test_a_disturbed_run_with_the_same_losses_differs_in_no_step() -> None:
    undisturbed = printed_losses(log(1, 2, 3, 4))
    assert printed_losses(log(1, 2, 3, 2, 3, 4)).differing_from(undisturbed) == ()
    wrong = log(1, 2, 3) + "0: step 2 loss 7\n" + log(3)
    assert printed_losses(wrong).differing_from(undisturbed) == (2, 4)
    assert printed_losses(wrong).contradictory == (2,)


def test_restarts_of_steps_are_in_the_words_of_hyperpod() -> None:
    said = "[Auto Resume] Info: JobID: 5 StepID: 0 Response from cluster agent: JobId=5, "
    assert step_restarts(f"{said}ResumeAction=RETRYSTEP\n{said}ResumeAction=NONE\n") == 1


REPORT = DrillReport(
    fault="worker-power-cut",
    job="7",
    state="COMPLETED",
    seconds=52.0,
    undisturbed_seconds=30.5,
    ended_seconds=35.2,
    restarts=0,
    step_restarts=1,
    steps=60,
    steps_again=13,
    resumed_after=(20,),
    contradictory=(),
    differing=(),
    moments=(),
)


def told(report: DrillReport) -> list[str]:
    console = Console(width=200, no_color=True)
    with console.capture() as shown:
        print_drills(console, [report])
    return shown.get().strip().splitlines()


def test_a_drill_tells_when_the_job_ended_what_was_lost_and_whether_losses_are_the_same() -> None:
    assert REPORT.is_sound
    assert told(REPORT) == [
        "Job 7 under worker-power-cut",
        "ended as COMPLETED 35.2 s after the fault (52.0 s in all, 30.5 s undisturbed)",
        "restarts: 0 of the job, 1 of steps in it",
        "repeated work: 13 of 60 steps; resumed after step 20",
        "losses: same as in the undisturbed run, in all 60 steps",
    ]


@pytest.mark.parametrize(
    ("changes", "is_sound", "text"),
    [
        ({"differing": tuple(range(30, 60))}, False, "step 30, 31, 32, 33, 34 and 25 more"),
        ({"contradictory": (21,)}, False, "differ when repeated: step 21"),
        ({"state": "FAILED"}, False, "ended as FAILED"),
        ({"differing": None}, True, "no undisturbed run to compare them with; repeated steps"),
        ({"steps": 0, "differing": None}, True, "losses: none in the log"),
        ({"resumed_after": (), "steps_again": 0}, True, "repeated work: none of 60 steps"),
    ],
)
def test_what_is_wrong_or_unknown_is_told(
    changes: dict[str, object], is_sound: bool, text: str
) -> None:
    report = replace(REPORT, **changes)  # type: ignore[arg-type]
    assert report.is_sound is is_sound
    assert text in "\n".join(told(report))


class Clusters:
    """Shows jobs that end one after the other, and a controller that does not answer at first."""

    def __init__(self, *ends: int) -> None:
        self._ends = ends
        self.looks = 0

    def run(self, script: str) -> str:
        self.looks += 1
        if self.looks == 1:
            raise CommandFailed("Unable to contact slurm controller")
        job = int(script.partition("show job ")[2].partition(")")[0])
        state = "COMPLETED" if self.looks > self._ends[job - 1] else "RUNNING"
        shown = f"JobId={job} JobState={state} Reason=None Restarts=0 NodeList=n1 ExitCode=0:0"
        return f"{shown} StdOut=/fsx/out\nslurmpod-log 0\n\nslurmpod-nodes\n"


def runs(cluster: Clusters, count: int, monkeypatch: pytest.MonkeyPatch) -> list[JobRun]:
    monkeypatch.setattr(job_run, "POLL_SECONDS", 0.0)
    shell: Any = cluster
    return [JobRun(shell, str(number + 1), Silence()) for number in range(count)]


def test_jobs_are_followed_side_by_side_to_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = runs(Clusters(20, 8), 2, monkeypatch)
    follow([first, second], "after a fault")
    assert (first.state, second.state) == ("COMPLETED", "COMPLETED")
    assert second.ended_at < first.ended_at


def test_a_job_that_never_ends_is_a_failure_with_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = runs(Clusters(10_000_000), 1, monkeypatch)
    with pytest.raises(FaultFailed, match="after a fault: job 1 is still RUNNING after"):
        follow([run], "after a fault", patience_seconds=0.05)


def test_following_may_end_before_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = runs(Clusters(10_000_000), 1, monkeypatch)
    follow([run], "half-way", until=lambda: run.state == "RUNNING")
    assert not run.has_ended
