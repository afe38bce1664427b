"""Every recipe that runs on CPUs, as a user's job on two rehearsed nodes, with its output.

PyTorch comes from wheels in the environment's bucket, which the job of `slurmpod job venv`
installs; all other recipes run with that Python. Models are small, as most of the time is start-up.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Row
from slurmpod.reading.read import read_as
from slurmpod.rehearsal.nodes.image import bake
from slurmpod.resolve import resolve
from tests.nodes.hyperpod_lab import HyperPodLab
from tests.nodes.job_cluster import (
    ENVIRONMENT,
    NAME,
    TORCH,
    SubmittedJob,
    bring,
    job_cluster,
    slurmpod,
)
from tests.nodes.torch_folder import REQUIREMENTS, torch_folder

FILE = "training.yaml"
VENV = "/fsx/ubuntu/venv/bin/python"
DATA = "/fsx/ubuntu/data"
SMALL_TRAINING = "--width=32 --depth=2 --batch=8 --steps=60 --save-every=20"


@dataclass(frozen=True)
class Measured:
    """A recipe, with its options, the arguments of its job, and the expected last line."""

    recipe: str
    chosen: str
    said: str
    arguments: str = ""


ALL = (
    Measured("check-nodes", "free_gib_on_root: 0", r"no node deviates"),
    Measured(
        "collectives-bench",
        "least_kib: 64\nmost_kib: 1024\nrepeats: 2",
        r"all-reduce +1 MiB.*",
    ),
    Measured("ddp", "steps: 20\nwidth: 32", r"done after step 20: .*"),
    Measured("train-fsdp2", "", r"done after step 60.*", SMALL_TRAINING),
    Measured(
        "fsdp2-hybrid",
        "tensor_parallel_degree: 2\nsteps: 6\nsave_every: 3\nbatch: 4\nwidth: 32\ndepth: 2\n"
        "heads: 4",
        r"done after step 6.*",
    ),
    Measured(
        "bert-pipeline",
        "steps: 4\nsave_every: 2\nsequence: 16\nlayers: 4\nwidth: 16\nheads: 2\nvocabulary: 50",
        r"loss and gradients are those of one process: .*",
    ),
    Measured(
        "gpt2-compile",
        "batch_per_process: 2\nsteps: 10\nwarm_up_steps: 2\nsamples: 100\nlayers: 1\nwidth: 32\n"
        "heads: 2\nvocabulary: 100\nblock: 16\nbackend: aot_eager",
        r"compiled is .* times as fast",
    ),
    Measured("sharded-array", f"prefix: {DATA}\ntasks: 2", r"5 of 5 are done"),
    Measured("sweep", "tasks: 2", r"best: .*"),
    Measured(
        "io-bench",
        "mib_per_file: 1\nblock_kib: [64, 1024]\nmib_per_s_per_accelerator: 0",
        r"reading is as fast as needed .*",
    ),
    Measured("own-program", "", r"ip-[0-9-]+", "--no-python hostname"),
)
"""The others are only rendered: smp2-llama and trn1-llama2-7b need accelerators; pretrain is too
large for this machine."""


def recipe_rows() -> Iterable[Row]:
    """Run each recipe once, from its submission to its end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with job_cluster(folder, bake(print), torch_folder()) as lab:
            yield _with_pytorch(lab, folder)
            make_data = f"mkdir {DATA} && cd {DATA} && touch a b c d e"
            lab.shell(NAME, "head").run(["sh", "-c", make_data])
            yield from (_measured(lab, folder, each) for each in ALL)


def _with_pytorch(lab: HyperPodLab, folder: Path) -> Row:
    """Install PyTorch as a user does, for the Python version of the available wheels."""
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
    wheels = ["--dest", str(folder / "wheels"), "--requirement", str(REQUIREMENTS)]
    subprocess.run([*fetch, *wheels], check=True)
    (folder / FILE).write_text(ENVIRONMENT)
    resolved = resolve(read_as(FILE, ENVIRONMENT))
    place = {"LocationConstraint": resolved.region}
    lab.aws.s3.create_bucket(Bucket=resolved.lifecycle.bucket, CreateBucketConfiguration=place)  # type: ignore[arg-type]
    made = ("job", "venv", FILE, "--wheels", "wheels", "--mirror", "--out", "make-venv")
    _succeed(slurmpod(lab, *made, cwd=folder))
    begun = time.monotonic()
    submit = ("job", "submit", FILE, "make-venv", "--python", f"{TORCH}/bin/python3")
    _succeed(slurmpod(lab, *submit, cwd=folder))
    count = len(list((folder / "wheels").iterdir()))
    return Row(f"job venv: PyTorch is installed from {count} wheels", time.monotonic() - begun)


def _measured(lab: HyperPodLab, folder: Path, each: Measured) -> Row:
    (folder / "chosen.yaml").write_text(f"{each.chosen}\n")
    options = ("--parameters", str(folder / "chosen.yaml")) if each.chosen else ()
    with redirect_stdout(sys.stderr):  # only the table is printed
        out = bring(lab, folder, each.recipe, *options)
    begun = time.monotonic()
    job = _submitted(lab, out, each)
    log = job.wait_until_ended()
    seconds = time.monotonic() - begun
    found = re.search(rf"^(?:\d+: )?({each.said})$", log, re.MULTILINE)
    if not found:
        raise SystemExit(f"{each.recipe} has not said {each.said}:\n{log}")
    return Row(f"{each.recipe}: {' '.join(found[1].split())}", seconds)


def _submitted(lab: HyperPodLab, out: Path, each: Measured) -> SubmittedJob:
    """Submit a job as its recipe says; return the last one if there are several."""
    head, place = lab.shell(NAME, "head"), f"/fsx/ubuntu/{each.recipe}"
    with_array = (out / "submit.sh").exists()
    program = (
        ["bash", f"{place}/submit.sh"] if with_array else ["sbatch", f"{place}/{out.name}.sbatch"]
    )
    said = head.run(["env", f"PYTHON={VENV}", *program, *each.arguments.split()])
    number = re.findall(r"[0-9]+", said)[-1]
    return SubmittedJob(head, out / f"{out.name}_{number}.out", number)


def _succeed(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}")
