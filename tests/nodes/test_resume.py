"""The rendered training job: interrupted in every way, it prints an undisturbed run's losses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurmpod.cli.environment import sound_environment
from slurmpod.jobs.metrics.log import lives
from slurmpod.jobs.metrics.measures import measures
from slurmpod.rehearsal.shell import Shell
from tests.golden_files import ROOT
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import HyperPodLab, hostname
from tests.nodes.job_cluster import (
    ENVIRONMENT,
    NAME,
    TORCH,
    SubmittedJob,
    bring,
    job_cluster,
    slurmpod,
    submit,
)
from tests.nodes.torch_folder import PACKAGES, torch_folder
from tests.nodes.training import (
    CUT_CHECKPOINT,
    HELD_AFTER,
    HELD_BETWEEN_STEPS,
    HELD_TEXTS,
    HELD_WHILE_SAVING,
    HUNG_RANK,
    LAST,
    PRETRAINED,
    SAVE_EVERY,
    SAVED,
    SLOWED,
    SMALL,
    STEPS,
    TINY,
    assert_cut_off,
    is_being_saved,
    losses,
    part_sizes,
)
from tests.pure.jobs.tiny_wheel import tiny_wheel

PAGE = (ROOT / "docs" / "resume.md").read_text(encoding="utf-8").replace("\\\n", " ")
IN_A_REHEARSAL = PAGE.partition("\n## In a rehearsal\n")[2].partition("\n## ")[0]
VENV, VENV_JOB, RENDER, TRAIN = (
    tuple(shlex.split(words))
    for words in re.findall(r"^    slurmpod (job .+)$", IN_A_REHEARSAL, re.MULTILINE)
)
"""Commands exactly as on the page."""
PYTHON = TRAIN[TRAIN.index("--python") + 1]

PROFILES = ("ami-2026-01",)
"""On a newer image HyperPod requeues the job instead."""


@pytest.fixture(scope="module")
def torch() -> Path:
    return torch_folder()


@pytest.fixture(scope="module")
def lab(
    older_image: Path, torch: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HyperPodLab]:
    folder = tmp_path_factory.mktemp("lab")
    with job_cluster(folder, older_image, torch, PROFILES) as lab:
        yield lab


@pytest.fixture(scope="module")
def work(lab: HyperPodLab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a user, who has created the Python for trainings on the cluster.

    PyTorch itself stays where it is on the nodes, as its files take a minute to install: the wheels
    link there. `make bench` installs those that the page names.
    """
    folder = tmp_path_factory.mktemp("work")
    (folder / "environments").mkdir()
    (folder / "environments" / "dev.yaml").write_text(ENVIRONMENT)
    (folder / "wheels").mkdir()
    tiny_wheel(folder / "wheels", packages=f"{TORCH}/{PACKAGES}")
    resolved = sound_environment(folder / "environments" / "dev.yaml").resolved
    place = {"LocationConstraint": resolved.region}
    lab.aws.s3.create_bucket(Bucket=resolved.lifecycle.bucket, CreateBucketConfiguration=place)  # type: ignore[arg-type]
    for told in ("copied to s3://", "is in the bucket"):
        rendered = slurmpod(lab, *VENV, cwd=folder)
        assert rendered.returncode == 0, rendered.stderr
        assert f"tiny-1.2-py3-none-any.whl: {told}" in rendered.stderr
    followed = slurmpod(lab, *VENV_JOB, "--python", f"{TORCH}/bin/python3", cwd=folder)
    assert followed.returncode == 0, followed.stdout + followed.stderr
    assert f"PYTHON={PYTHON}\n" in followed.stdout
    return folder


def test_all_nodes_have_the_packages_from_the_bucket(lab: HyperPodLab, work: Path) -> None:
    del work
    for node in lab.nodes(NAME, "cpu"):
        asked = [PYTHON, "-c", "import tiny; print(tiny.VERSION)"]
        assert Shell(lab.folder, hostname(node), "ubuntu").run(asked) == "1.2"


class Training(SubmittedJob):
    """The job of a training: its progress, and its checkpoints."""

    @property
    def checkpoints(self) -> Path:
        return self.output.parent / "checkpoints"

    def wait_for_step(self, step: int) -> None:
        self._wait(lambda: max(losses(self.log()), default=0) >= step, f"step {step}")

    def wait_until_it_saves(self) -> None:
        self._wait(lambda: is_being_saved(self.checkpoints), "a checkpoint being saved")

    def wait_for(self, text: str) -> None:
        self._wait(lambda: text in self.log(), text)

    def wait_until_done(self) -> None:
        ends = ("done after", "ResumeAction=NONE")
        self._wait(lambda: any(end in self.log() for end in ends), "the last step")
        self.wait_until_ended()

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for the training; several copies of PyTorch start slowly on few cores."""
        wait_until(condition, what, seconds=240)


def train(lab: HyperPodLab, name: str, folder: Path) -> Training:
    """Render a job as a user does, copy its files to the cluster and submit it.

    It is held after some steps, and while it saves, until there is no such file any more.
    """
    out = bring(lab, folder, "train-fsdp2", name=name)
    with (out / "model.py").open("a") as model:
        model.write(HELD_BETWEEN_STEPS + HELD_WHILE_SAVING)
    for hold in ("hold", "hold-save"):
        (out / hold).touch()
    numbers = ["--steps", str(STEPS), "--save-every", str(SAVE_EVERY)]
    submitted = submit(lab, out, *SMALL, *numbers, python=PYTHON)
    return Training(submitted.shell, submitted.output, submitted.job)


@pytest.fixture(scope="module")
def undisturbed(lab: HyperPodLab, work: Path) -> dict[int, set[str]]:
    """The output of an undisturbed run: one line for each step."""
    rendered = slurmpod(lab, *RENDER, cwd=work)
    assert rendered.returncode == 0, rendered.stderr
    followed = slurmpod(lab, *TRAIN, cwd=work)
    assert followed.returncode == 0, followed.stdout + followed.stderr
    assert "starting from the beginning with 2 processes" in followed.stdout
    found = losses(followed.stdout)
    assert sorted(found) == list(range(1, STEPS + 1))
    assert {len(lines) for lines in found.values()} == {1}
    return found


def test_a_job_goes_on_after_it_was_requeued_and_lost_a_node_that_was_saving(
    lab: HyperPodLab, undisturbed: dict[int, set[str]], tmp_path: Path
) -> None:
    training = train(lab, "disturbed", tmp_path)
    training.wait_for_step(HELD_AFTER)
    requeue_with_a_spoiled_checkpoint(training)
    training.wait_until_it_saves()
    before = instances(lab)
    victim = other_worker(lab, training)
    lab.machines.power_cut(victim)
    training.wait_for("ResumeAction=RETRYSTEP")
    cut = part_sizes(training.checkpoints / CUT_CHECKPOINT)
    training.shell.run(["rm", "/fsx/ubuntu/disturbed/hold-save"])
    training.wait_until_done()
    log = training.log()
    skipped = re.findall(r"step-\d+ is skipped: .*", log)
    assert len(skipped) == 2  # by each run that could have continued from it
    for line in skipped:
        assert re.match(r"step-00000059 is skipped: __1_0.distcp has 100 of \d+ bytes", line)
    assert log.count(f"resuming after step {SAVE_EVERY} with 2 processes, 2 before") == 2
    assert losses(log) == undisturbed
    assert_measured(log)
    saved = sorted(each for each in training.checkpoints.iterdir() if each.is_dir())
    assert [int(each.name.removeprefix("step-")) for each in saved] == [20, 40, 59, 60]
    assert_cut_off(cut, saved[1])
    after = instances(lab)
    assert {name for name in before if before[name] != after[name]} == {victim}
    assert_health_checks_pass(training.shell, Shell(lab.folder, victim, "root"))


def test_a_training_whose_rank_hangs_starts_again_and_why_names_the_rank(
    lab: HyperPodLab, work: Path, undisturbed: dict[int, set[str]], tmp_path: Path
) -> None:
    watched = ("--watch", "restart", "--hang-after", "15")
    out = bring(lab, tmp_path, "train-fsdp2", *watched, name="hung")
    with (out / "model.py").open("a") as model:
        model.write(HUNG_RANK)
    (out / "hold").touch()
    numbers = ["--steps", str(STEPS), "--save-every", str(SAVE_EVERY)]
    submitted = submit(lab, out, *SMALL, *numbers, python=PYTHON)
    training = Training(submitted.shell, submitted.output, submitted.job)
    training.wait_for("slurmpod-watch: hang: ")
    training.shell.run(["rm", "/fsx/ubuntu/hung/hold"])
    training.wait_until_done()
    log = training.log()
    found = re.findall(r"^slurmpod-watch: hang: (no progress for .*)$", log, re.MULTILINE)
    assert len(found) == 1
    names = training.shell.run(["scontrol", "show", "hostnames", nodes_of(training)]).split()
    assert re.fullmatch(
        rf"no progress for \d+ s after step {HELD_AFTER}, where \S+ s are usual: rank 0 waits in a"
        rf" collective, and rank 1 on {names[1]} \(process \d+\) has not come to it:"
        r" it is at samples \(model\.py:\d+\)",
        found[0],
    )
    assert f"resuming after step {SAVE_EVERY} with 2 processes" in log
    assert losses(log) == undisturbed
    told = slurmpod(lab, "why", "environments/dev.yaml", training.job, cwd=work)
    assert f"rank 1 on {names[1]}" in " ".join(told.stdout.split())


def test_a_pretraining_goes_on_from_what_it_saved_in_the_background_before_a_power_cut(
    lab: HyperPodLab, work: Path, tmp_path: Path
) -> None:
    del work
    out = bring(lab, tmp_path, "pretrain", name="background")
    with (out / "texts.py").open("a") as texts:
        texts.write(HELD_TEXTS)
    (out / "hold").touch()
    submitted = submit(lab, out, *TINY, python=PYTHON)
    training = Training(submitted.shell, submitted.output, submitted.job)
    training.wait_for(f"step {PRETRAINED} loss ")
    saved = training.checkpoints / f"step-{SAVED:08d}"
    wait_until(saved.exists, "the first checkpoint")
    lab.machines.power_cut(other_worker(lab, training))
    training.wait_for("ResumeAction=RETRYSTEP")
    training.shell.run(["rm", "/fsx/ubuntu/background/hold"])
    training.wait_until_done()
    log = training.log()
    mesh = "1x1x2x1x1 processes"
    assert f"resuming after step {SAVED} with {mesh}, 1x1x2x1x1 before" in log
    before, after = lives(log.splitlines())
    assert [each.step for each in before.reports] == list(range(1, PRETRAINED + 1))
    assert [each.step for each in after.reports] == list(range(SAVED + 1, LAST + 1))
    again = {each.step: each.loss for each in after.reports}
    twice = before.reports[SAVED:]
    assert {each.step: each.loss for each in twice} == {
        each.step: again[each.step] for each in twice
    }
    assert f"done after step {LAST}\n" in log
    assert (training.checkpoints / f"step-{LAST:08d}" / "COMPLETE").exists()


def nodes_of(training: Training) -> str:
    return training.shell.run(["squeue", "--states=all", "-h", "--format=%N", "-j", training.job])


def test_a_job_saves_before_its_time_limit_and_is_requeued(
    lab: HyperPodLab, work: Path, tmp_path: Path
) -> None:
    """On one node: test_checkpoints.py shows that all processes save then."""
    del work
    out = bring(lab, tmp_path, "train-fsdp2", "--nodes", "1", name="limited")
    script = out / "limited.sbatch"
    script.write_text(re.sub(r"(?m)^#SBATCH --time=.*$", "#SBATCH --time=1", script.read_text()))
    with (out / "model.py").open("a") as model:
        model.write(SLOWED)
    submitted = submit(lab, out, *SMALL, "--steps", "9000", "--save-every", "9000", python=PYTHON)
    training = Training(submitted.shell, submitted.output, submitted.job)
    training.wait_for("to go on in the requeued job")
    wait_until(lambda: training.state() == "PENDING", "the requeued job")
    training.shell.run(["scontrol", "update", f"jobid={training.job}", "StartTime=now"])
    training.wait_for("resuming after step ")
    training.shell.run(["scancel", training.job])
    training.wait_until_ended("CANCELLED")
    assert "told to end: saved after step " in training.log().partition("resuming after step ")[2]
    (saved,) = re.findall(r"saved after step (\d+), to go on", training.log())
    (resumed,) = re.findall(r"resuming after step (\d+)", training.log())
    assert saved == resumed


def requeue_with_a_spoiled_checkpoint(training: Training) -> None:
    """Requeue the job; before it starts, plant a newer checkpoint that lacks part of a file."""
    training.shell.run(["scontrol", "requeue", training.job])
    wait_until(lambda: training.state() == "PENDING", "the requeued job")
    plant = (
        "cd /fsx/ubuntu/disturbed/checkpoints; cp -r step-00000020 step-00000059;"
        " truncate --size=100 step-00000059/__1_0.distcp; rm ../hold"
    )
    training.shell.run(["sh", "-c", plant])
    training.shell.run(["scontrol", "update", f"jobid={training.job}", "StartTime=now"])


def other_worker(lab: HyperPodLab, training: Training) -> str:
    """Return the worker that does not have the batch script of a job on both."""
    batch_host = training.shell.run(["squeue", "--noheader", "--format=%B", "--job", training.job])
    (other,) = instances(lab).keys() - {batch_host}
    return other


def instances(lab: HyperPodLab) -> dict[str, str]:
    """Return the instance of each worker, by its name."""
    return {hostname(node): node["InstanceId"] for node in lab.nodes(NAME, "cpu")}


def assert_measured(log: str) -> None:
    """Fail unless the metrics of the job's log, over three runs, match the events."""
    measured = measures(lives(log.splitlines()))
    assert (measured.step, measured.restarts) == (STEPS, 2)
    twice = (HELD_AFTER - SAVE_EVERY, 2 * SAVE_EVERY - SAVE_EVERY)
    assert measured.steps_trained_twice == sum(twice)


def assert_health_checks_pass(head: Shell, worker: Shell) -> None:
    """Fail unless Slurm runs the checks around jobs, and they let a worker take the next one."""
    config = head.run(["scontrol", "show", "config"])
    assert re.search(r"^Prolog\S* += /usr/bin/tru\[eP\]$", config, re.MULTILINE)
    worker.run(["slurmpod-health"])
    states = ["sinfo", "--noheader", "--format=%T"]
    wait_until(lambda: head.run(states) == "idle", "workers that are all idle")
