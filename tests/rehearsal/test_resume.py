"""The rendered training job: cut off in every way, it prints the losses of an undisturbed run."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from tests.rehearsal.conftest import wait_until
from tests.rehearsal.hyperpod_lab import HyperPodLab, group, hostname
from tests.rehearsal.torch_folder import torch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmpod.rehearsal.shell import Shell

ENVIRONMENT = """\
name: training
account: "123456789012"
region: us-west-2
network:
  zone: us-west-2a
storage:
  lustre:
    capacity_gib: 1200
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: cpu, role: worker, instance_type: ml.m5.large, count: 2, partition: cpu}
"""
SOFTWARE = "software.example:/torch"
EXTENSION = f"""#!/bin/bash
set -eu
mkdir -p /opt/torch
mount -t nfs {SOFTWARE} /opt/torch
"""
SHORT_WAIT = "echo KillWait=2 >>/opt/slurm/etc/slurm.conf; scontrol reconfigure"
"""srun waits for processes of a dead node, 30 seconds unless told otherwise."""

SMALL = ("--width", "32", "--depth", "2", "--batch", "8")
STEPS = 60
SAVE_EVERY = 20
HELD_AFTER = 30
HOLD = f"""
_samples = samples


def samples(first: int, count: int) -> torch.Tensor:
    while first >= {HELD_AFTER} * 8 and Path("hold").exists():
        time.sleep(0.05)
    return _samples(first, count)
"""
"""Added to the data of the training: after so many steps it waits while there is a file `hold`."""

LOSS = re.compile(r"^(?:0: )?step (\d+) loss (\S+ rate \S+)$", re.MULTILINE)
PROGRAM = Path(__file__).parents[2] / "templates" / "jobs" / "train-fsdp2" / "train.py"


def losses(log: str) -> dict[int, set[str]]:
    """Return everything that was printed for each step, in whichever of a job's lives."""
    found: dict[int, set[str]] = {}
    for step, line in LOSS.findall(log):
        found.setdefault(int(step), set()).add(line)
    return found


@pytest.fixture(scope="module")
def torch() -> Path:
    return torch_folder()


@pytest.fixture(scope="module")
def lab(
    image: Path, torch: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        lab.machines.add_file_system(SOFTWARE, torch)
        uri = lab.upload("scripts", {"extend.sh": EXTENSION})
        more: dict[str, Any] = {
            "LifeCycleConfig": {"SourceS3Uri": uri, "OnInitComplete": "extend.sh"},
            "InstanceStorageConfigs": [lab.lustre_storage],
        }
        groups = [group("head", "Controller", **more), group("cpu", "Compute", 2, **more)]
        created = lab.create("training", groups)
        assert (created["ClusterStatus"], created.get("FailureMessage")) == ("InService", None)
        lab.shell("training", "head", user="root").run(["sh", "-c", SHORT_WAIT])
        yield lab
        lab.delete("training")


@dataclass(frozen=True)
class Training:
    """A job that was rendered for the cluster, and submitted there."""

    shell: Shell
    output: Path
    job: str

    def log(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def state(self) -> str:
        query = ["squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={self.job}"]
        return self.shell.run(query)

    def wait_for_step(self, step: int) -> None:
        self._wait(lambda log: max(losses(log), default=0) >= step, f"step {step}")

    def wait_until_ended(self) -> None:
        self._wait(lambda log: "done after" in log or "ResumeAction=NONE" in log, "the last step")
        wait_until(lambda: self.state() in ("COMPLETED", "FAILED"), "the end of the job")
        assert self.state() == "COMPLETED", self.log()

    def _wait(self, condition: Callable[[str], bool], what: str) -> None:
        """Wait for something in the log; several copies of PyTorch start slowly on few cores."""
        wait_until(lambda: condition(self.log()), what, seconds=240)


def train(lab: HyperPodLab, name: str, folder: Path, *, held: bool) -> Training:
    """Render a job as a user does, bring its files to the cluster and submit it."""
    (folder / "training.yaml").write_text(ENVIRONMENT)
    out = folder / name
    command = ["job", "render", str(folder / "training.yaml"), "train-fsdp2"]
    assert run([*command, "--name", name, "--out", str(out)]) == ExitCode.OK
    shell = lab.shell("training", "head")
    place = f"/fsx/ubuntu/{name}"
    shell.run(["mkdir", place])
    with (out / "model.py").open("a") as model:
        model.write(f"\nimport time\nfrom pathlib import Path\n{HOLD}")
    for file in out.iterdir():
        shell.run(["tee", f"{place}/{file.name}"], stdin=file.read_text())
    if held:
        shell.run(["touch", f"{place}/hold"])
    submit = ["env", "PYTHON=/opt/torch/python", "sbatch", "--parsable", f"{place}/{name}.sbatch"]
    numbers = ["--steps", str(STEPS), "--save-every", str(SAVE_EVERY)]
    job = shell.run([*submit, *SMALL, *numbers])
    shared = lab.folder / "file_systems" / lab.lustre["FileSystemId"]
    return Training(shell, shared / "ubuntu" / name / f"{name}_{job}.out", job)


@pytest.fixture(scope="module")
def undisturbed(lab: HyperPodLab, tmp_path_factory: pytest.TempPathFactory) -> dict[int, set[str]]:
    """What is printed where nothing happens: one line for each step."""
    training = train(lab, "undisturbed", tmp_path_factory.mktemp("undisturbed"), held=False)
    training.wait_until_ended()
    assert "starting from the beginning with 2 processes" in training.log()
    found = losses(training.log())
    assert sorted(found) == list(range(1, STEPS + 1))
    assert {len(lines) for lines in found.values()} == {1}
    return found


def test_a_requeued_job_goes_on_from_the_newest_complete_checkpoint(
    lab: HyperPodLab, undisturbed: dict[int, set[str]], tmp_path: Path
) -> None:
    training = train(lab, "requeued", tmp_path, held=True)
    training.wait_for_step(HELD_AFTER)
    training.shell.run(["scontrol", "requeue", training.job])
    wait_until(lambda: training.state() == "PENDING", "the requeued job")
    plant = (
        "cd /fsx/ubuntu/requeued/checkpoints; cp -r step-00000020 step-00000059;"
        " truncate --size=100 step-00000059/__1_0.distcp; rm ../hold"
    )
    training.shell.run(["sh", "-c", plant])
    training.shell.run(["scontrol", "update", f"jobid={training.job}", "StartTime=now"])
    training.wait_until_ended()
    log = training.log()
    assert re.search(r"step-00000059 is skipped: __1_0.distcp has 100 of \d+ bytes", log)
    assert f"resuming after step {SAVE_EVERY} with 2 processes, 2 before" in log
    assert losses(log) == undisturbed


def test_a_step_goes_on_after_a_node_was_replaced(
    lab: HyperPodLab, undisturbed: dict[int, set[str]], tmp_path: Path
) -> None:
    training = train(lab, "replaced", tmp_path, held=True)
    training.wait_for_step(HELD_AFTER)
    before = {hostname(node): node["InstanceId"] for node in lab.nodes("training", "cpu")}
    batch_host = training.shell.run(["squeue", "--noheader", "--format=%B", "--job", training.job])
    (victim,) = before.keys() - {batch_host}
    lab.machines.power_cut(victim)
    training.shell.run(["rm", "/fsx/ubuntu/replaced/hold"])
    training.wait_until_ended()
    log = training.log()
    assert "ResumeAction=RETRYSTEP" in log
    assert f"resuming after step {SAVE_EVERY} with 2 processes, 2 before" in log
    assert losses(log) == undisturbed
    after = {hostname(node): node["InstanceId"] for node in lab.nodes("training", "cpu")}
    assert {name for name in before if before[name] != after[name]} == {victim}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def train_here(torch: Path, checkpoints: Path, processes: int) -> str:
    """Train on this machine, with all random numbers of the model left out."""
    variables = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(processes),
        "OMP_NUM_THREADS": "1",
    }
    command = [str(torch / "python"), str(PROGRAM), "--checkpoints", str(checkpoints), *SMALL]
    command += ["--dropout", "0", "--steps", "20", "--save-every", "10"]
    running = [
        subprocess.Popen(
            command,
            env={**os.environ, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * processes
    return outputs[0]


def test_another_number_of_processes_goes_on_with_the_same_data(
    torch: Path, tmp_path: Path
) -> None:
    by_two = losses(train_here(torch, tmp_path, 2))
    (tmp_path / "step-00000020" / "COMPLETE").unlink()
    log = train_here(torch, tmp_path, 1)
    assert "step-00000020 is skipped: it has no sound COMPLETE" in log
    assert "resuming after step 10 with 1 processes, 2 before" in log
    by_one = losses(log)
    assert sorted(by_one) == list(range(11, 21))
    for step, (line,) in by_one.items():
        (other,) = by_two[step]
        assert float(line.split()[0]) == pytest.approx(float(other.split()[0]), abs=1e-4)
