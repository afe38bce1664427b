"""Rendered recipes on a cluster: each one measures or checks what it claims."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from slurmpod.rehearsal.shell import Shell
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import HyperPodLab, hostname
from tests.nodes.job_cluster import (
    ENVIRONMENT,
    NAME,
    TORCH,
    WITH_TRAINIUM,
    SubmittedJob,
    bring,
    job_cluster,
    slurmpod,
    submit,
)
from tests.nodes.torch_folder import torch_folder
from tests.pure.jobs.tiny_source import tiny_folder, tiny_sdist


@pytest.fixture(scope="module")
def lab(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    folder = tmp_path_factory.mktemp("lab")
    with job_cluster(folder, image, torch_folder(), trainium=True) as lab:
        yield lab


@pytest.fixture(scope="module")
def workers(lab: HyperPodLab) -> list[str]:
    return sorted(hostname(node) for node in lab.nodes(NAME, "cpu"))


def chosen(folder: Path, text: str) -> tuple[str, str]:
    """Return the option for a file with a user's choices."""
    file = folder / "parameters.yaml"
    file.write_text(text)
    return "--parameters", str(file)


def test_nodes_are_checked_and_the_one_that_lacks_a_gpu_is_named(
    lab: HyperPodLab, workers: list[str], tmp_path: Path
) -> None:
    out = bring(lab, tmp_path, "check-nodes", *chosen(tmp_path, "free_gib_on_root: 0"))
    job = submit(lab, out)
    log = job.wait_until_ended()
    assert log.splitlines()[-1] == "no node deviates"
    for node in workers:
        assert re.search(rf"^{node}  +good  +good ", log, re.MULTILINE)
    expected = json.loads((out / "expectations.json").read_text())
    expected |= {"accelerator_kind": "gpu", "accelerators": 2}
    (out / "expectations.json").write_text(json.dumps(expected))
    for count, node in enumerate(workers, start=1):
        lines = "".join(f"echo 'GPU {index}: Tesla'\n" for index in range(count))
        tool = ["sh", "-c", "cat > /usr/bin/nvidia-smi && chmod 755 /usr/bin/nvidia-smi"]
        Shell(lab.folder, node, "root").run(tool, stdin=f"#!/bin/sh\n{lines}")
    log = submit(lab, out).wait_until_ended("FAILED")
    assert f"{workers[0]} deviates: accelerators: 1 of 2 accelerators\n1 of 2 nodes deviate" in log


def test_losses_of_data_parallel_training_are_those_of_one_process(
    lab: HyperPodLab, tmp_path: Path
) -> None:
    out = bring(lab, tmp_path, "ddp", *chosen(tmp_path, "steps: 20\nwidth: 32"))
    log = submit(lab, out).wait_until_ended()
    assert "2 processes take 8 samples each" in log
    assert "done after step 20: the losses are those of one process" in log


PYTHON_WITH_TORCH = f"""\
#!/bin/sh
PYTHONPATH={TORCH}/packages:$PYTHONPATH exec {TORCH}/bin/python3 "$@"
"""


def test_a_module_of_the_users_own_finds_its_neighbours(lab: HyperPodLab, tmp_path: Path) -> None:
    folders = chosen(tmp_path, "pythonpath: [., src]")
    out = bring(lab, tmp_path, "own-program", *folders, "--env", "WORD=a b")
    shown = "__name__, os.environ['RANK'], os.environ['WORD'], lengths.STEPS"
    for name, text in {
        "trainer/main.py": f"import os, lengths\nprint({shown})\n",
        "src/lengths.py": "STEPS = 3\n",
        "python": PYTHON_WITH_TORCH,
    }.items():
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text(text)
        (out / name).chmod(0o755)
    job = submit(lab, out, "-m", "trainer.main", python="/fsx/ubuntu/own-program/python")
    log = job.wait_until_ended()
    assert {f"{rank}: __main__ {rank} a b 3" for rank in range(2)} <= set(log.splitlines())


@pytest.fixture
def links(lab: HyperPodLab, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Put an archive on shared storage, for uv outside the cluster, and for pip there."""
    folder = lab.folder / "file_systems" / lab.lustre["FileSystemId"] / "ubuntu" / "links"
    folder.mkdir()
    tiny_sdist(folder)
    for name, value in {"FIND_LINKS": str(folder), "NO_INDEX": "1", "NO_CONFIG": "1"}.items():
        monkeypatch.setenv(f"UV_{name}", value)
    return ("--env", "PIP_NO_INDEX=1", "--env", "PIP_FIND_LINKS=/fsx/ubuntu/links")


def test_what_has_no_wheel_is_built_on_a_node_for_all_environments(
    lab: HyperPodLab, links: tuple[str, ...], tmp_path: Path
) -> None:
    environment, mine = tmp_path / "training.yaml", tiny_folder(tmp_path, "mine")
    environment.write_text(ENVIRONMENT)
    (mine / "requirements.txt").write_text("tiny\n-e .\n")
    wanted = ("--from", str(mine / "requirements.txt"), "--python-version", "3.14")
    told = []
    for name in ("one", "two"):
        out = str(tmp_path / name)
        place = ("--at", f"/fsx/ubuntu/venvs/{name}", "--name", name, "--out", out)
        assert run(["job", "venv", str(environment), *wanted, *place]) == ExitCode.OK
        done = slurmpod(lab, "job", "submit", str(environment), out, *links)
        assert done.returncode == 0, done.stdout + done.stderr
        told.append(done.stdout)
    assert {"building mine", "building tiny"} <= set(told[0].splitlines())
    assert "building" not in told[1]
    assert told[1].count(" was built before: /fsx/ubuntu/venvs/built-wheels/") == 2
    asked = ["/fsx/ubuntu/venvs/two/bin/python", "-c", "import mine, tiny; print(tiny.VERSION)"]
    assert lab.shell(NAME, "head").run(asked) == "1.2"


def test_collectives_are_measured(lab: HyperPodLab, tmp_path: Path) -> None:
    sizes = "least_kib: 64\nmost_kib: 1024\nrepeats: 2"
    out = bring(lab, tmp_path, "collectives-bench", *chosen(tmp_path, sizes))
    job = submit(lab, out)
    job.wait_until_ended()
    file = out / f"collectives-{job.job}.json"
    rows = json.loads(file.read_text())
    measured = [(row["operation"], row["bytes"]) for row in rows]
    operations = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    assert measured == [(each, 1024 * kib) for each in operations for kib in (64, 256, 1024)]
    assert all(row["bus_gb_per_s"] > 0 for row in rows)
    picture = ElementTree.fromstring(file.with_suffix(".svg").read_text())  # noqa: S314  # our own
    assert len(picture.findall(".//{*}polyline")) == len(operations)


GPT2 = """\
batch_per_process: 2
steps: 10
warm_up_steps: 2
samples: 100
layers: 1
width: 32
heads: 2
vocabulary: 100
block: 16
backend: aot_eager
"""
"""Nodes of a rehearsal have no compiler, which inductor needs."""


def test_gpt2_compiled_has_the_losses_of_gpt2(lab: HyperPodLab, tmp_path: Path) -> None:
    out = bring(lab, tmp_path, "gpt2-compile", *chosen(tmp_path, GPT2))
    job = submit(lab, out)
    job.wait_until_ended()
    found = json.loads((out / f"gpt2-{job.job}.json").read_text())
    assert found["compiled"]["loss"] == pytest.approx(found["eager"]["loss"], rel=0.01)
    assert found["eager"]["epoch"] == 12 * 4 / 100
    assert found["speed_up"] > 0
    text = (out / f"gpt2-{job.job}.prom").read_text()
    assert "# TYPE train_samples_per_second gauge\n" in text
    assert re.search(r'^learning_rate\{way="compiled"\} 6.25e-06$', text, re.MULTILINE)


HYBRID = """\
{"tensor_parallel_degree": 2, "sm_activation_offloading": true, "activation_loading_horizon": 2,
 "steps": 6, "save_every": 3, "batch": 4, "width": 32, "depth": 2, "heads": 4}
"""


def test_layers_are_split_over_nodes_and_checkpoints_are_complete(
    lab: HyperPodLab, tmp_path: Path
) -> None:
    out = bring(lab, tmp_path, "fsdp2-hybrid", *chosen(tmp_path, HYBRID))
    log = submit(lab, out).wait_until_ended()
    assert "starting from the beginning with 1x1x2 processes" in log
    assert "done after step 6" in log
    for step in (3, 6):
        parts = json.loads((out / "checkpoints" / f"step-{step:08d}" / "COMPLETE").read_text())
        assert set(parts) == {".metadata", "__0_0.distcp", "__1_0.distcp"}


BERT = """\
steps: 4
save_every: 2
sequence: 16
layers: 4
width: 16
heads: 2
vocabulary: 50
"""


def test_a_pipeline_over_two_nodes_computes_what_one_process_does(
    lab: HyperPodLab, tmp_path: Path
) -> None:
    out = bring(lab, tmp_path, "bert-pipeline", *chosen(tmp_path, BERT))
    log = submit(lab, out).wait_until_ended()
    assert "loss and gradients are those of one process: " in log
    assert "done after step 4" in log
    assert (out / "checkpoints" / "step-00000004" / "COMPLETE").exists()


def test_throughput_of_files_is_measured_on_all_nodes(lab: HyperPodLab, tmp_path: Path) -> None:
    small = "mib_per_file: 1\nblock_kib: [64, 1024]\nmib_per_s_per_accelerator: 0"
    out = bring(lab, tmp_path, "io-bench", *chosen(tmp_path, small))
    job = submit(lab, out)
    assert "reading is as fast as needed (0 MiB/s)" in job.wait_until_ended()
    data = json.loads((out / f"results-{job.job}" / "io.json").read_text())
    assert data["nodes"] == 2
    assert {row["folder"] for row in data["rows"]} == {"/fsx/ubuntu"}
    assert all(row["mib_per_s"] > 0 for row in data["rows"])


def test_files_are_shared_by_the_tasks_of_an_array(lab: HyperPodLab, tmp_path: Path) -> None:
    head = lab.shell(NAME, "head")
    head.run(["sh", "-c", "mkdir /fsx/ubuntu/data; cd /fsx/ubuntu/data; touch a b c d e"])
    options = chosen(tmp_path, "prefix: /fsx/ubuntu/data\ntasks: 2")
    out = bring(lab, tmp_path, "sharded-array", *options)
    work = out / "work.py"
    work.write_text(work.read_text() + "    assert not key.endswith('/d')\n")
    said = head.run(["bash", "/fsx/ubuntu/sharded-array/submit.sh"])
    array, after = re.findall(r"[0-9]+", said)
    log = SubmittedJob(head, out / f"sharded-array_{after}.out", after).wait_until_ended("FAILED")
    assert "4 of 5 are done\nnot done: /fsx/ubuntu/data/d\n" in log
    again = "sbatch --array=1 /fsx/ubuntu/sharded-array/sharded-array.sbatch"
    assert f"run what is left with: {again}\n" in log
    assert "3 to do, of 5 in all" in (out / f"sharded-array_{array}_0.out").read_text()
    work.write_text(work.read_text().rpartition("    assert")[0])
    command = again.replace("sbatch ", "sbatch --parsable --wait ").split()
    job = head.run(command)
    assert "1 to do, of 5 in all" in (out / f"sharded-array_{job}_1.out").read_text()
    shares = [(out / "done" / f"{task}.txt").read_text().splitlines() for task in range(2)]
    assert sorted(chain(*shares)) == [f"/fsx/ubuntu/data/{name}" for name in "abcde"]


LLAMA = "accept_llama2_license: true\ntexts: /fsx/ubuntu/texts.jsonl"
TORCHRUN = """\
#!/bin/bash
exec >"$SLURM_JOB_ID-${2#*=}.txt"
printf '%s\\n' "$@" --
env
echo "FILES=$(ulimit -n) $(ulimit -Hn)"
"""
PARALLEL_COMPILE = """\
#!/bin/bash
[[ $1 != --command ]] || { touch "$2-$SLURMD_NODENAME"; exit; }
NEURON_EXTRACT_GRAPHS_ONLY=1 exec "$@"
"""
"""Stand-ins: the first records its arguments, the second runs them as Neuron's tool does."""


def prepared_llama(lab: HyperPodLab, folder: Path, name: str) -> Path:
    """Return the folder of a job with all prepared parts, some of them stand-ins."""
    options = ("--partition", "trn1", *chosen(folder, LLAMA))
    out = bring(lab, folder, "trn1-llama2-7b", *options, name=name, environment=WITH_TRAINIUM)
    tools = out / "neuron-venv" / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    for name, text in {"torchrun": TORCHRUN, "neuron_parallel_compile": PARALLEL_COMPILE}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tools.parent / "requirements.txt").write_bytes((out / "requirements.txt").read_bytes())
    for name in ("nxd", "data-4096"):
        (out / name).mkdir(exist_ok=True)
    return out


def given_to_torchrun(out: Path, job: str) -> list[tuple[list[str], dict[str, str]]]:
    """Return the arguments and variables of each node, in the order of their ranks."""
    notes = [file.read_text().partition("\n--\n") for file in sorted(out.glob(f"{job}-?.txt"))]
    return [
        (words.splitlines(), dict(line.split("=", 1) for line in env.splitlines() if "=" in line))
        for words, _, env in notes
    ]


def test_llama_is_compiled_and_trained_by_32_processes_on_each_of_four_nodes(
    lab: HyperPodLab, tmp_path: Path
) -> None:
    out = prepared_llama(lab, tmp_path, "llama")
    names = [hostname(node) for node in lab.nodes(NAME, "trn")]
    first = min(names, key=lambda name: int(name.rpartition("-")[2]))
    head = lab.shell(NAME, "head")
    said = head.run(["bash", "/fsx/ubuntu/llama/submit.sh"])
    prepares, compiles, trains = re.findall(r"job ([0-9]+)", said)
    SubmittedJob(head, out / f"llama_{trains}.out", trains).wait_until_ended()
    assert "Neuron 2.28 is the last" in (out / f"llama_{prepares}.out").read_text()
    assert [file.name for file in out.glob("clear-locks-*")] == [f"clear-locks-{first}"]
    compiled, trained = given_to_torchrun(out, compiles), given_to_torchrun(out, trains)
    assert len(compiled) == len(trained) == 4
    for rank, (words, known) in enumerate([*compiled, *trained]):
        assert words[:3] == ["--nnodes=4", f"--node-rank={rank % 4}", "--nproc-per-node=32"]
        assert words[3] == f"--master-addr={first}"
        cache = "/fsx/ubuntu/llama/neuron-cache"
        assert known["NEURON_COMPILE_CACHE_URL"] == cache
        assert known["NEURON_RT_STOCHASTIC_ROUNDING_EN"] == "1"
        assert known["NEURON_CC_FLAGS"].split()[0] == "--model-type=transformer"
        assert known["FI_PROVIDER"] == "efa"
        assert len(set(known["FILES"].split())) == 1
        assert ("NEURON_EXTRACT_GRAPHS_ONLY" in known) == (rank < 4)
    options = trained[0][0][5:]
    assert compiled[0][0][5:] == [*options, "--steps_this_run", "10", "--checkpoint_freq", "0"]
    given = dict(pairwise(options))
    assert (given["--tensor_parallel_size"], given["--grad_accum_usteps"]) == ("8", "16")
    assert (given["--seq_len"], given["--batch_size"]) == ("4096", "1")
    assert given["--use_gpu_compatible_precision"] == "0"


def test_nothing_is_trained_where_nothing_could_be_compiled(
    lab: HyperPodLab, tmp_path: Path
) -> None:
    out, head = prepared_llama(lab, tmp_path, "untrained"), lab.shell(NAME, "head")
    (out / "neuron-venv" / "bin" / "neuron_parallel_compile").write_text("#!/bin/false\n")
    said = head.run(["bash", "/fsx/ubuntu/untrained/submit.sh"])
    _, compiles, trains = re.findall(r"job ([0-9]+)", said)
    SubmittedJob(head, out / f"untrained_{compiles}.out", compiles).wait_until_ended("FAILED")
    training = SubmittedJob(head, out / "none", trains)
    wait_until(lambda: training.state() == "CANCELLED", "Slurm to give the training up")


def test_a_job_is_submitted_from_outside_and_followed_to_its_end(
    lab: HyperPodLab, tmp_path: Path
) -> None:
    (tmp_path / "training.yaml").write_text(ENVIRONMENT)
    environment, folder = str(tmp_path / "training.yaml"), tmp_path / "outside"
    options = chosen(tmp_path, "free_gib_on_root: 0")
    render = ["job", "render", environment, "check-nodes", "--name", "outside", *options]
    assert run([*render, "--out", str(folder)]) == ExitCode.OK
    followed = slurmpod(lab, "job", "submit", environment, str(folder))
    assert followed.returncode == 0, followed.stderr
    assert followed.stdout.endswith("no node deviates\n")
    copied = r"/fsx/ubuntu/outside has \d+ files, .* MB; \d+ files had to be copied\n"
    assert re.search(rf"{copied}submitted job \d+\n", followed.stderr)
    assert re.search(r"\[job \d+: completed\]\n$", followed.stderr)
