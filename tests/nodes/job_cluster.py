"""A cluster of a rehearsal for rendered jobs: two workers, shared storage, PyTorch on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from embedded_aws.isolation import isolated_environment
from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from slurmpod.rehearsal.session_plugin import variables
from slurmpod.rehearsal.shell import Shell
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import HyperPodLab, group
from tests.nodes.test_lifecycle_bundles import by_api, upload

NAME = "training"
ENVIRONMENT = """\
edition: 2026
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
slurm: {settings: {KillWait: 2, ReturnToService: 2}}
lifecycle: {health_checks: true}
"""
"""KillWait: srun waits for processes of a dead node, 30 seconds by default. ReturnToService: with
HyperPod's own, 1, slurmctld ends a job whose node was replaced."""

TRN1 = "ml.trn1.32xlarge"
TRAINIUM = f"    - {{name: trn, role: worker, instance_type: {TRN1}, count: 4, partition: trn1}}\n"
WITH_TRAINIUM = ENVIRONMENT.replace("slurm: ", f"{TRAINIUM}slurm: ")

SOFTWARE = "software.example:/torch"
TORCH = "/opt/torch"
MOUNT = f"mkdir -p {TORCH} && mount -t nfs {SOFTWARE} {TORCH}"


@contextmanager
def job_cluster(
    folder: Path,
    image: Path,
    torch: Path,
    profiles: Sequence[str] = (),
    *,
    trainium: bool = False,
) -> Iterator[HyperPodLab]:
    """Set the cluster up with its lifecycle scripts, in `folder`; four more nodes on demand."""
    with HyperPodLab(folder, image, profiles) as lab:
        lab.machines.add_file_system(SOFTWARE, torch)
        uri = upload(lab, WITH_TRAINIUM if trainium else ENVIRONMENT, on_init_complete=MOUNT)
        common = by_api(lab, uri)
        groups = [group("head", "Controller", **common), group("cpu", "Compute", 2, **common)]
        if trainium:
            partition = {"NodeType": "Compute", "PartitionNames": ["trn1"]}
            trn = {"InstanceType": TRN1, "SlurmConfig": partition}
            groups.append(group("trn", "Compute", 4, **common) | trn)
        lab.create_continuously(NAME, groups)
        yield lab
        lab.delete(NAME)


def bring(
    lab: HyperPodLab,
    folder: Path,
    recipe: str,
    *options: str,
    name: str = "",
    environment: str = ENVIRONMENT,
) -> Path:
    """Render a job as a user does; return its folder on shared storage."""
    (folder / "training.yaml").write_text(environment)
    name = name or recipe
    out: Path = lab.folder / "file_systems" / lab.lustre["FileSystemId"] / "ubuntu" / name
    lab.shell(NAME, "head").run(["mkdir", "--mode=777", f"/fsx/ubuntu/{name}"])
    command = ["job", "render", str(folder / "training.yaml"), recipe, "--name", name]
    assert run([*command, "--out", str(out), *options]) == ExitCode.OK
    return out


@dataclass(frozen=True)
class SubmittedJob:
    """A job that was rendered for the cluster, and submitted there."""

    shell: Shell
    output: Path
    job: str

    def log(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def state(self) -> str:
        query = ["squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={self.job}"]
        return self.shell.run(query)

    def wait_until_ended(self, *states: str) -> str:
        """Wait for the job's end, which must have this state; return its output."""
        ends = ("COMPLETED", "FAILED", "CANCELLED")
        wait_until(lambda: self.state() in ends, "the end of the job", seconds=240)
        assert self.state() in (states or ("COMPLETED",)), self.log()
        return self.log()


def submit(
    lab: HyperPodLab, folder: Path, *arguments: str, python: str = f"{TORCH}/python"
) -> SubmittedJob:
    """Submit the job of a folder that was copied to the cluster."""
    shell, name = lab.shell(NAME, "head"), folder.name
    command = ["env", f"PYTHON={python}", "sbatch", "--parsable"]
    job = shell.run([*command, f"/fsx/ubuntu/{name}/{name}.sbatch", *arguments])
    return SubmittedJob(shell, folder / f"{name}_{job}.out", job)


def slurmpod(
    lab: HyperPodLab, *arguments: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command as its user does, through a session on a node."""
    isolated = isolated_environment(os.environ, lab.variables)
    return subprocess.run(
        [sys.executable, "-P", "-c", "from slurmpod.cli.main import main; main()", *arguments],
        cwd=cwd,
        env={**isolated, **variables(lab.folder), "COLUMNS": "100", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,  # PyTorch is installed in the same way
    )
