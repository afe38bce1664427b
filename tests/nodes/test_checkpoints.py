"""The rendered training's checkpoints, on this machine: interrupted, shared, read by fewer."""

from __future__ import annotations

import errno
import fcntl
import os
import runpy
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from slurmpod.jobs.metrics.log import lives
from slurmpod.jobs.metrics.report import SAVING
from slurmpod.jobs.recipes.recipe import SHARED_PROGRAMS
from slurmpod.jobs.recipes.registry import RECIPES
from tests.nodes.conftest import wait_until
from tests.nodes.torch_folder import torch_folder
from tests.nodes.torch_forks import Forks, Program, forks_of
from tests.nodes.training import (
    CUT_CHECKPOINT,
    HELD_AFTER,
    HELD_BETWEEN_STEPS,
    HELD_WHILE_SAVING,
    IMPATIENT,
    NAN_AFTER,
    NAN_GRADIENT,
    SMALL,
    assert_cut_off,
    is_being_saved,
    losses,
    part_sizes,
)

RECIPE = RECIPES["train-fsdp2"]


@pytest.fixture(scope="module")
def torch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with forks_of(torch_folder(), tmp_path_factory.mktemp("printed")) as forks:
        yield forks


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


LEAVES = """\
import atexit
from processes import join, run_to_the_end


class Kept:
    def __del__(self):
        print("the interpreter shuts down", flush=True)


def work():
    join("cpu")
    atexit.register(print, "what the work registered", flush=True)


kept = Kept()
run_to_the_end(work)
"""


def put_program(folder: Path, *, held: str = "") -> None:
    """Put the training there; `held` is added to its model.py."""
    folder.mkdir(exist_ok=True)
    for name, content in RECIPE.programs.items():
        (folder / name).write_bytes(content)
    with (folder / "model.py").open("a") as model:
        model.write(held)


def start(
    torch: Forks,
    folder: Path,
    processes: int,
    *options: str,
    program: str = "train.py",
    job: Mapping[str, str] = MappingProxyType({}),
) -> list[Program]:
    """Start the training in `folder`, without the model's random numbers.

    `job` are variables that Slurm sets.
    """
    variables = {
        **job,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(processes),
    }
    command = [program, "--checkpoints", "checkpoints", *SMALL, "--dropout", "0", *options]
    return [
        torch.start(folder, command, {**variables, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(processes)
    ]


def train(torch: Forks, folder: Path, processes: int, *options: str) -> str:
    """Train to the end; return the output of the first process."""
    running = start(torch, folder, processes, *options)
    outputs = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * processes, outputs
    return outputs[0]


def train_until_cut_off(torch: Forks, folder: Path, *options: str) -> str:
    """Train with two processes, and kill both while they save; return the output of the first."""
    (folder / "hold-save").touch()
    running = start(torch, folder, 2, *options)
    try:
        saves = folder / "checkpoints"
        wait_for(lambda: is_being_saved(saves), "a checkpoint being saved", running)
    finally:
        for process in running:
            process.kill()
        outputs = [process.communicate() for process in running]
    (folder / "hold-save").unlink()
    return outputs[0]


@contextmanager
def held_training(torch: Forks, folder: Path, *options: str) -> Iterator[Program]:
    """Train with one process, and hold it after it has saved step 30; kill it at the end."""
    put_program(folder, held=HELD_BETWEEN_STEPS)
    (folder / "hold").touch()
    (first,) = start(torch, folder, 1, *options)
    try:
        held_at = folder / "checkpoints" / f"step-{HELD_AFTER:08d}"
        wait_for(held_at.exists, "a training that is held", [first])
        yield first
    finally:
        first.kill()
        first.wait()


def wait_for(condition: Callable[[], bool], what: str, training: list[Program]) -> None:
    """Wait for a training's condition, unless the training has ended."""
    wait_until(lambda: condition() or any(map(ended, training)), what, seconds=240)
    if not condition():
        for process in training:
            process.kill()
        raise AssertionError([process.communicate() for process in training])


def ended(process: Program) -> bool:
    return process.poll() is not None


def read_until(process: Program, text: str) -> str:
    """Return the output of a process, up to a line with `text`."""
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return "".join(lines)
    raise AssertionError("".join(lines))


def names(checkpoints: Path) -> list[str]:
    return sorted(entry.name for entry in checkpoints.iterdir() if entry.is_dir())


def test_another_number_of_processes_goes_on_with_the_same_data(
    torch: Forks, tmp_path: Path
) -> None:
    """`job metrics` also knows before which step the training saved."""
    put_program(tmp_path)
    options = ("--steps", "20", "--save-every", "10")
    first = train(torch, tmp_path, 2, *options)
    by_two = losses(first)
    (life,) = lives(first.splitlines())
    assert [each.step for each in life.reports if each.said == SAVING] == [11]
    (tmp_path / "checkpoints" / "step-00000020" / "COMPLETE").unlink()
    log = train(torch, tmp_path, 1, *options)
    assert "step-00000020 is skipped: it has no sound COMPLETE" in log
    assert "resuming after step 10 with 1 processes, 2 before" in log
    by_one = losses(log)
    assert sorted(by_one) == list(range(11, 21))
    for step, (line,) in by_one.items():
        (other,) = by_two[step]
        assert float(line.split()[0]) == pytest.approx(float(other.split()[0]), abs=1e-4)


def test_a_checkpoint_cut_off_while_it_was_saved_is_not_there_and_the_next_removes_it(
    torch: Forks, tmp_path: Path
) -> None:
    put_program(tmp_path, held=HELD_WHILE_SAVING)
    first = train_until_cut_off(torch, tmp_path, "--steps", "60", "--save-every", "20")
    checkpoints = tmp_path / "checkpoints"
    assert names(checkpoints) == [CUT_CHECKPOINT, "step-00000020"]
    cut = part_sizes(checkpoints / CUT_CHECKPOINT)
    half_removed = checkpoints / "step-00000010"
    shutil.copytree(checkpoints / "step-00000020", half_removed)
    (half_removed / ".metadata").unlink()  # the remains of an interrupted removal

    second = train(torch, tmp_path, 2, "--steps", "60", "--save-every", "30")
    assert "resuming after step 20 with 2 processes, 2 before" in second
    assert "is skipped" not in second
    assert names(checkpoints) == ["step-00000020", "step-00000030", "step-00000060"]
    assert_cut_off(cut, checkpoints / "step-00000060")
    both = losses(first + second)
    assert sorted(both) == list(range(1, 61))
    assert {len(lines) for lines in both.values()} == {1}


def test_a_gradient_that_is_not_finite_ends_the_training_before_it_is_saved(
    torch: Forks, tmp_path: Path
) -> None:
    put_program(tmp_path, held=NAN_GRADIENT)
    running = start(torch, tmp_path, 2, "--steps", "30", "--save-every", "8")
    outputs = [process.communicate() for process in running]
    assert names(tmp_path / "checkpoints") == ["step-00000008"]
    assert [process.returncode for process in running] == [1, 1]
    for output in outputs:
        assert f"the norm of all gradients is nan after step {NAN_AFTER}" in output
    assert sorted(losses(outputs[0])) == list(range(1, NAN_AFTER + 1))


def test_a_training_that_is_told_to_end_saves_first(torch: Forks, tmp_path: Path) -> None:
    put_program(tmp_path, held=HELD_BETWEEN_STEPS)
    (tmp_path / "hold").touch()
    options = ("--steps", "40", "--save-every", "10")
    running = start(torch, tmp_path, 2, *options)
    held_at = tmp_path / "checkpoints" / f"step-{HELD_AFTER:08d}"
    wait_for(held_at.exists, "a training that is held", running)
    os.kill(running[1].pid, signal.SIGTERM)  # one of them is enough
    (tmp_path / "hold").unlink()
    outputs = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [1, 1]
    assert all("told to end: saved after step 31" in output for output in outputs)
    log = train(torch, tmp_path, 2, *options)
    assert "resuming after step 31 " in log
    both = losses(outputs[0] + log)
    assert sorted(both) == list(range(1, 41))
    assert {len(lines) for lines in both.values()} == {1}


SLURM = {
    "squeue": "#!/bin/sh\ndate --date=@$(cat ends) +%Y-%m-%dT%H:%M:%S\n",
    "scontrol": '#!/bin/sh\necho "$*" >>asked\n',
}
"""Slurm's answers to the first process: the job's end as of now, and the requeue."""


@pytest.mark.parametrize("has_got_more_time", [False, True], ids=["as-it-was", "more-time"])
def test_near_its_time_limit_a_training_saves_and_is_requeued(
    torch: Forks, tmp_path: Path, has_got_more_time: bool
) -> None:
    put_program(tmp_path)
    end = int(time.time()) + 3600
    (tmp_path / "ends").write_text(str(end + 1_000_000 * has_got_more_time))
    for name, script in SLURM.items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    job = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_START_TIME": str(end - 86_400),
        "SLURM_JOB_END_TIME": str(end),
    }
    options = ("--steps", "5", "--save-every", "9", "--save-before-end", "7200")
    running = start(torch, tmp_path, 2, *options, job=job)
    outputs = [process.communicate() for process in running]
    if has_got_more_time:
        assert [process.returncode for process in running] == [0, 0], outputs
        assert not (tmp_path / "asked").exists()
        return
    assert [process.returncode for process in running] == [1, 1], outputs
    assert "saved after step 1, to go on in the requeued job" in outputs[0]
    assert (tmp_path / "asked").read_text() == "requeue 7\n"
    assert names(tmp_path / "checkpoints") == ["step-00000001"]


def test_a_program_ends_before_threads_of_gloo_can_abort_it(torch: Forks, tmp_path: Path) -> None:
    """They rarely do so while the interpreter shuts down, so this must be prevented."""
    put_program(tmp_path)
    (tmp_path / "leaves.py").write_text(LEAVES)
    (process,) = start(torch, tmp_path, 1, program="leaves.py")
    assert process.communicate() == "what the work registered\n"
    assert process.returncode == 0


def test_a_second_training_in_a_folder_ends_and_leaves_the_checkpoints_of_the_first(
    torch: Forks, tmp_path: Path
) -> None:
    put_program(tmp_path / "other", held=IMPATIENT)
    checkpoints = tmp_path / "checkpoints"
    with held_training(torch, tmp_path, "--steps", "40", "--save-every", "10") as first:
        unfinished = checkpoints / ".step-00000040.partial"
        unfinished.mkdir()  # as the first process sets it
        options = ("--checkpoints", str(checkpoints), "--steps", "35", "--keep", "1")
        second = start(torch, tmp_path / "other", 2, *options, "--save-every", "1")
        outputs = [process.communicate() for process in second]
        saved = ["step-00000010", "step-00000020", "step-00000030"]
        assert names(checkpoints) == [unfinished.name, *saved]
        assert [process.returncode for process in second] == [1, 1]
        assert f"another training writes here: {checkpoints} (job " in outputs[0]
        unfinished.rmdir()
        (tmp_path / "hold").unlink()
        log = first.communicate()
    assert (first.returncode, sorted(losses(log))) == (0, list(range(1, 41)))
    assert names(checkpoints) == [*saved[1:], "step-00000040"]


def test_a_training_that_waits_for_another_goes_on_when_that_one_is_killed(
    torch: Forks, tmp_path: Path
) -> None:
    put_program(tmp_path / "other")
    options = ("--checkpoints", str(tmp_path / "checkpoints"), "--steps", "40")
    with held_training(torch, tmp_path, *options, "--save-every", "10") as first:
        (second,) = start(torch, tmp_path / "other", 1, *options)
        said = read_until(second, "/checkpoints is locked by job ")
        assert "waiting for up to 10 minutes" in said
        first.kill()
        log = second.communicate()
    assert second.returncode == 0, log
    assert "resuming after step 30 with 1 processes, 1 before" in log


def test_where_files_cannot_be_locked_the_training_says_so_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def flock(*arguments: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")  # Lustre without the option flock

    monkeypatch.setattr(fcntl, "flock", flock)
    runpy.run_path(str(SHARED_PROGRAMS / "lock.py"))["lock"](tmp_path).close()
    said = f"{tmp_path}/.lock cannot be locked (Function not implemented): see that no second"
    assert said in capsys.readouterr().out
