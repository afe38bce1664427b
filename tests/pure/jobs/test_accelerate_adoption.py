"""`accelerate launch` in a repository: one on each node, with a configuration of the job's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from slurmpod.cli.main import run
from slurmpod.jobs.adoption.accelerate import for_job, of_accelerate
from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.lint import lint
from slurmpod.problems import ExitCode
from tests.pure.jobs.cluster import resolved_cluster
from tests.sound_environment import SOUND

THEIRS = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_multinode_launcher: pdsh
  deepspeed_hostfile: hosts
  zero_stage: 3
machine_rank: 0
main_process_ip: 10.9.9.9
mixed_precision: bf16
num_machines: 4
num_processes: 32
"""
OWN = "slurmpod_accelerate.yaml"


def configured(
    command: str, text: str, processes: int = 16, accelerator: str = "gpu"
) -> tuple[tuple[str, ...], object]:
    words, written = for_job(of_accelerate(command.split())[0], text, processes, accelerator)
    return words, yaml.safe_load(written)


def test_numbers_of_another_cluster_go_and_the_plugin_stays() -> None:
    words, own = configured("--config_file a.yaml train.py", THEIRS)
    assert own == {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": "DEEPSPEED",
        "deepspeed_config": {"zero_stage": 3},
        "mixed_precision": "bf16",
    }
    launcher = "--deepspeed_multinode_launcher=standard"
    assert words == (f"--config_file={OWN}", launcher, "train.py"), "or pdsh would start others"


@pytest.mark.parametrize(
    ("command", "text", "processes", "kind"),
    [
        ("train.py", "", 16, "MULTI_GPU"),
        ("train.py", "", 1, "NO"),
        ("--config_file a.yaml train.py", "distributed_type: 'NO'", 16, "MULTI_GPU"),
        ("--config_file a.yaml train.py", "distributed_type: FSDP", 1, "FSDP"),
        ("--multi_gpu --config_file a.yaml train.py", THEIRS, 16, "MULTI_GPU"),
        ("--multi-gpu train.py", "", 1, "NO"),
        ("--use_fsdp train.py", "", 16, "FSDP"),
        ("train.py --use_fsdp", "", 16, "MULTI_GPU"),
    ],
)
def test_how_processes_work_together_is_as_in_the_original(
    command: str, text: str, processes: int, kind: str
) -> None:
    words, own = configured(command, text, processes)
    assert isinstance(own, dict)
    assert own["distributed_type"] == kind
    assert not {"--multi_gpu", "--multi-gpu"} & {*words}, "accelerate refuses it for one process"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("distributed_type: XLA", "a.yaml is for XLA and LOCAL_MACHINE"),
        ("distributed_type: MULTI_CPU", "a.yaml is for MULTI_CPU"),
        ("compute_environment: AMAZON_SAGEMAKER", "a.yaml is for NO and AMAZON_SAGEMAKER"),
        ("a: [", "a.yaml is no configuration of accelerate"),
        ("[]\nx", "a.yaml is no configuration of accelerate"),
    ],
)
def test_what_nodes_cannot_do_is_refused(text: str, message: str) -> None:
    with pytest.raises(JobRefused, match=message):
        configured("--config_file a.yaml train.py", text)


@pytest.mark.parametrize(
    ("accelerator", "text"), [("", "distributed_type: FSDP"), ("", THEIRS), ("neuron", "")]
)
def test_a_plugin_needs_gpus(accelerator: str, text: str) -> None:
    with pytest.raises(JobRefused, match="needs GPUs, which the nodes do not have"):
        configured("--config_file a.yaml train.py", text, accelerator=accelerator)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "zero3.yaml").write_text(THEIRS)
    (folder / "train.py").write_text("print('trains')\n")
    (tmp_path / "env.yaml").write_text(SOUND)
    return folder


def adopt(repository: Path, *command: str) -> int:
    place = [str(repository.parent / "env.yaml"), str(repository)]
    options = ["--out", str(repository.parent / "out"), "--name", "a", "--nodes", "2"]
    return run(["job", "adopt", *place, *options, "--", "accelerate", "launch", *command])


def test_the_job_starts_accelerate_once_on_each_node(repository: Path) -> None:
    out = repository.parent / "out"
    config = repository / "conf" / "zero3.yaml"
    config.write_text("distributed_type: MULTI_GPU\nnum_processes: 32\nmixed_precision: bf16\n")
    assert adopt(repository, "--config_file", "./conf/zero3.yaml", "train.py") == ExitCode.OK
    assert "-m accelerate.commands.launch \\\n" in (step := (out / "step.sh").read_text())
    assert '--machine_rank="$rank"' in step
    assert "torch.distributed.run" not in step
    assert "\nexport ACCELERATE_USE_CPU=true\n" in step
    assert yaml.safe_load((out / OWN).read_text()) == {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": "MULTI_GPU",
        "mixed_precision": "bf16",
    }
    assert (out / "conf" / "zero3.yaml").read_text() == config.read_text()
    assert lint("a.sbatch", (out / "a.sbatch").read_text(), resolved_cluster()) == ()


@pytest.mark.parametrize("file", ["/home/them/a.yaml", "conf/none.yaml"])
def test_a_configuration_that_is_not_there_is_refused(
    repository: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert adopt(repository, "--config_file", file, "train.py") == ExitCode.USAGE
    assert f"{file}, which is not a text file of this repository" in capsys.readouterr().err
