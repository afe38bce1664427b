"""The rendered training's checkpoints, on this machine alone: cut off, and read by fewer."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.rehearsal.conftest import wait_until
from tests.rehearsal.torch_folder import torch_folder
from tests.rehearsal.training import (
    CUT_CHECKPOINT,
    HELD_WHILE_SAVING,
    SMALL,
    assert_cut_off,
    is_being_saved,
    losses,
    part_sizes,
)

PROGRAM = Path(__file__).parents[2] / "templates" / "jobs" / "train-fsdp2"


@pytest.fixture(scope="module")
def torch() -> Path:
    return torch_folder()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def put_program(folder: Path, *, held: str = "") -> None:
    """Put the training there; `held` is added to its model.py."""
    shutil.copytree(PROGRAM, folder, dirs_exist_ok=True)
    with (folder / "model.py").open("a") as model:
        model.write(held)


def start(torch: Path, folder: Path, processes: int, *options: str) -> list[subprocess.Popen[str]]:
    """Start the training in `folder`, with all random numbers of the model left out."""
    variables = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(processes),
        "OMP_NUM_THREADS": "1",
    }
    command = [str(torch / "python"), "train.py", "--checkpoints", "checkpoints", *SMALL]
    command += ["--dropout", "0", *options]
    return [
        subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]


def train(torch: Path, folder: Path, processes: int, *options: str) -> str:
    """Train to the end; return what the first process printed."""
    running = start(torch, folder, processes, *options)
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * processes
    return outputs[0]


def train_until_cut_off(torch: Path, folder: Path, *options: str) -> str:
    """Train with two processes, and kill both while they save; return what the first printed."""
    (folder / "hold").touch()
    running = start(torch, folder, 2, *options)
    try:
        saves = folder / "checkpoints"
        wait_until(lambda: is_being_saved(saves), "a checkpoint being saved", seconds=240)
    finally:
        for process in running:
            process.kill()
        outputs = [process.communicate()[0] for process in running]
    (folder / "hold").unlink()
    return outputs[0]


def names(checkpoints: Path) -> list[str]:
    return sorted(folder.name for folder in checkpoints.iterdir())


def test_another_number_of_processes_goes_on_with_the_same_data(
    torch: Path, tmp_path: Path
) -> None:
    put_program(tmp_path)
    options = ("--steps", "20", "--save-every", "10")
    by_two = losses(train(torch, tmp_path, 2, *options))
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
    torch: Path, tmp_path: Path
) -> None:
    put_program(tmp_path, held=HELD_WHILE_SAVING)
    first = train_until_cut_off(torch, tmp_path, "--steps", "60", "--save-every", "20")
    checkpoints = tmp_path / "checkpoints"
    assert names(checkpoints) == [CUT_CHECKPOINT, "step-00000020"]
    cut = part_sizes(checkpoints / CUT_CHECKPOINT)
    half_removed = checkpoints / "step-00000010"
    shutil.copytree(checkpoints / "step-00000020", half_removed)
    (half_removed / ".metadata").unlink()  # as a removal leaves it that was cut off

    second = train(torch, tmp_path, 2, "--steps", "60", "--save-every", "30")
    assert "resuming after step 20 with 2 processes, 2 before" in second
    assert "is skipped" not in second
    assert names(checkpoints) == ["step-00000020", "step-00000030", "step-00000060"]
    assert_cut_off(cut, checkpoints / "step-00000060")
    both = losses(first + second)
    assert sorted(both) == list(range(1, 61))
    assert {len(lines) for lines in both.values()} == {1}
