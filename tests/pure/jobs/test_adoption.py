"""Repositories that become jobs: what is kept, left out, refused, and never touched."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slurmpod.cli.main import run
from slurmpod.jobs.adoption.launch import Launch, launch_of_script, without_launcher
from slurmpod.jobs.adoption.launchers import STARTER
from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.lint import lint
from slurmpod.jobs.script import read_script
from slurmpod.problems import ExitCode
from tests.golden_files import ROOT
from tests.pure.jobs.cluster import resolved_cluster
from tests.sound_environment import SOUND

BATCH = """\
#!/bin/bash
#SBATCH --job-name=big-run
#SBATCH --nodes=2
#SBATCH --partition=theirs
#SBATCH --gpus-per-task=8
nodes=$(scontrol show hostnames $SLURM_JOB_NODELIST)
first=$(echo $nodes | head -n 1)
: ${CONFIG:="conf/tiny.yaml"}
export FI_PROVIDER=efa
export LOGLEVEL=INFO
export NOW=$(date)
if [ -n "$DEBUG" ]; then
    export TORCH_LOGS=all
fi
LISTED=(
    --layers 2
    --name "two words"
)
prepare_data --all
srun torchrun --nnodes 2 --nproc_per_node=8 --rdzv_endpoint "$first:29500" --tee 3 \\
    -m trainer.main --config $CONFIG ${LISTED[@]} --rate ${RATE:-0.1} "$@"
"""


def launch(text: str, **given: str) -> Launch:
    return launch_of_script(read_script("x.sh", text), given)


def test_the_program_is_found_with_what_variables_hold() -> None:
    found = launch(BATCH)
    options = ("--layers", "2", "--name", "two words", "--rate", "0.1")
    assert found.words == ("--tee=3", "-m", "trainer.main", "--config", "conf/tiny.yaml", *options)
    assert found.variables == {"LOGLEVEL": "INFO"}


def test_all_that_is_not_there_is_told() -> None:
    told = launch(BATCH).left_out
    assert [each.partition(":")[0] for each in told] == [
        "--nnodes=2",
        "--nproc-per-node=8",
        "--rdzv-endpoint=$first",
        "FI_PROVIDER",
        "NOW",
        "TORCH_LOGS",
        "prepare_data",
    ]


def test_the_last_of_several_trainings_is_taken_and_the_others_are_told() -> None:
    found = launch("#!/bin/bash\npython train.py --debug\ntorchrun train.py a\n")
    assert found.words == ("train.py", "a")
    assert found.left_out == ("python train.py --debug: the original trains with this, too",)


def test_what_stands_before_the_program_is_kept() -> None:
    found = launch("#!/bin/bash\nFULL=1 NCCL_SOCKET_IFNAME=eth0 torchrun train.py\nX=1 hostname\n")
    assert found.variables == {"FULL": "1"}
    assert found.left_out == (
        "NCCL_SOCKET_IFNAME: of another cluster; step.sh sets what is needed",
    )


def test_a_command_in_a_here_document_is_found() -> None:
    text = (
        "#!/bin/bash\nread -r -d '' cmd <<E\ncd x && python main.py a\nE\nsrun bash -c \"$cmd\"\n"
    )
    assert launch(text).words == ("main.py", "a")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python -u -m torch.distributed.run --nnodes 1 train.py --x", ["train.py", "--x"]),
        ("python3 -m trainer.main a", ["-m", "trainer.main", "a"]),
        ("srun --container-image=x bash -c 'python train.py b'", ["train.py", "b"]),
        (
            "deepspeed --hostfile=hosts --num_gpus 8 main.py --deepspeed",
            ["slurmpod_start.py", "--local-rank", "main.py", "--deepspeed"],
        ),
        (
            "deepspeed --module --no_local_rank trainer.main a",
            ["slurmpod_start.py", "-m", "trainer.main", "a"],
        ),
        ("composer -n 8 -v train.py a.yaml", ["slurmpod_start.py", "train.py", "a.yaml"]),
        (
            "accelerate launch --num_processes 8 --config_file=a.yaml --use_fsdp --tee 3 main.py",
            ["--config_file=a.yaml", "--use_fsdp", "--tee=3", "main.py"],
        ),
        (
            "python -m accelerate.commands.launch -m trainer.main a",
            ["--config_file=", "-m", "trainer.main", "a"],
        ),
        (
            'L="accelerate launch --main_process_ip $head"\nsrun bash -c "$L train.py a"',
            ["--config_file=", "train.py", "a"],
        ),
        ("torchrun --standalone train.py $1", ["train.py", "/fsx/one"]),
        ("torchrun train.py --to $PWD/out", ["train.py", "--to", "./out"]),
    ],
)
def test_launchers_are_taken_off(command: str, words: list[str]) -> None:
    assert launch(f"#!/bin/bash\n{command}\n", **{"1": "/fsx/one"}).words == tuple(words)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("deepspeed --autotuning run main.py", "deepspeed is given --autotuning"),
        ("deepspeed --no_python main.py", "deepspeed is given --no_python"),
        ("accelerate launch --cpu train.py", "accelerate is given --cpu"),
        ("accelerate launch --config_file x.yaml", "accelerate is given no program"),
        ("composer -c train.py x.yaml", "composer is given --c"),
        ("torchrun train.py $DATA --save $(date)", r"does not say what \$DATA, \$\(...\) is"),
        ("torchrun train.py --key '<YOUR_KEY>'", "does not say what <YOUR_KEY> is"),
        ("hostname", "no training is recognised in x.sh"),
    ],
)
def test_what_would_train_otherwise_is_refused(command: str, message: str) -> None:
    with pytest.raises(JobRefused, match=message):
        launch(f"#!/bin/bash\n{command}\n")


SHOWS = "import os, sys; names = 'RANK', 'NODE_RANK', 'CROSS_SIZE', 'LOCAL_SIZE'\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--local-rank", "main.py", "--x"], "['--local_rank=1', '--x'] 9 4 5 2"),
        (["main.py", "--x"], "['--x'] 9 4 5 2"),
        (["--local-rank", "-m", "main", "--x"], "['--local_rank=1', '--x'] 9 4 5 2"),
    ],
)
def test_a_program_gets_what_its_launcher_gave_it(
    given: list[str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text(f"{SHOWS}print(sys.argv[1:], *map(os.environ.get, names))\n")
    starter = ROOT / "templates" / "jobs" / "adopted" / STARTER
    of_torchrun = {"RANK": "9", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    of_nodes = {"WORLD_SIZE": "10", "GROUP_RANK": "4"}
    done = subprocess.run(
        [sys.executable, str(starter), *given],
        cwd=tmp_path,
        env={**os.environ, **of_torchrun, **of_nodes},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{said}\n", done.stderr


def test_a_command_needs_a_program() -> None:
    for words in (
        ["torchrun", "--nnodes", "2"],
        ["deepspeed"],
        ["python", "-c", "1"],
        ["make", "train"],
    ):
        with pytest.raises(JobRefused):
            without_launcher(words)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    (folder / "trainer").mkdir(parents=True)
    (folder / "trainer" / "main.py").write_text("print('trains')\n")
    (folder / "run.slurm").write_text(BATCH)
    (folder / "requirements.txt").write_text("torch\n")
    (tmp_path / "env.yaml").write_text(SOUND)
    return folder


def adopt(repository: Path, *options: str) -> int:
    return run(["job", "adopt", str(repository.parent / "env.yaml"), str(repository), *options])


def state(folder: Path) -> dict[str, tuple[bytes, float]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime) for path in files}


def test_a_repository_becomes_a_job_that_is_sound(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, out = state(repository), tmp_path / "out"
    given = ("--env", "LOGLEVEL=DEBUG", "--nodes", "1")
    assert adopt(repository, "--out", str(out), *given) == ExitCode.OK
    assert state(repository) == before
    text = (out / "big-run.sbatch").read_text()
    assert lint("big-run.sbatch", text, resolved_cluster()) == ()
    for line in ("--nodes=1", "--partition=cpu", "--open-mode=append", "--requeue", "--exclusive"):
        assert f"\n#SBATCH {line}\n" in text
    assert "\nexport LOGLEVEL=DEBUG\n" in text
    assert "srun --auto-resume=1" in text
    assert text.endswith("--layers 2 --name 'two words' --rate 0.1 \"$@\"\n")
    assert (out / "trainer" / "main.py").exists()
    shown = capsys.readouterr()
    assert "\n-#SBATCH --partition=theirs\n" in shown.out
    assert "\n+#SBATCH --partition=cpu\n" in shown.out
    assert "problems: 0 by" in shown.err
    assert "its packages (requirements.txt): slurmpod job venv" in shown.err
    assert shown.err.endswith(f"next: slurmpod job submit {tmp_path}/env.yaml {out}\n")


def test_problems_of_the_original_are_those_that_job_lint_prints(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = repository / "run.slurm"
    script.write_text(f"{BATCH}\nif true; then\n")
    assert adopt(repository, "--out", str(tmp_path / "out")) == ExitCode.OK
    counted = re.search("problems of the original: ([0-9]+) by", capsys.readouterr().err)
    env = str(repository.parent / "env.yaml")
    assert run(["job", "lint", str(script), "--env", env, "--json"]) == ExitCode.INVALID
    printed = json.loads(capsys.readouterr().out)["problems"]
    assert "JOB-025" in {each["rule"] for each in printed}
    assert counted
    assert int(counted[1]) == len(printed)


def test_a_command_stands_for_a_script(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ("--", "torchrun", "--nproc_per_node=8", "trainer/other.py", "--save", "/scratch/out")
    assert adopt(repository, "--out", str(out), "--json", *command) == ExitCode.OK
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert "trainer/other.py is not in the repository" in notes
    assert any(note.startswith("/scratch/out is on no file system") for note in notes)
    assert (
        (out / "theirs.sbatch").read_text().endswith('trainer/other.py --save /scratch/out "$@"\n')
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--script", "none.sh"), "none.sh is no script of this folder"),
        (("--out", "{folder}/job"), "which is not changed"),
        (("--nodes", "99"), "a job of 99 nodes cannot run"),
        (("--set", "CONFIG"), "'CONFIG' has no value"),
        (("--partition", "none"), "there is no partition 'none'"),
    ],
)
def test_what_cannot_be_is_refused(
    options: tuple[str, ...],
    message: str,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = state(repository)
    words = [option.format(folder=repository) for option in options]
    assert adopt(repository, *words) == ExitCode.USAGE
    assert message in capsys.readouterr().err
    assert state(repository) == before


def test_a_file_of_the_repository_is_not_overwritten(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "step.sh").write_text("echo theirs\n")
    assert adopt(repository, "--out", str(tmp_path / "out")) == ExitCode.USAGE
    assert "the repository has step.sh, too, as the job does" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_several_batch_scripts_are_a_choice(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "other.sbatch").write_text(BATCH)
    assert adopt(repository) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "there must be exactly one batch script that trains, not 2" in said
    assert "the folder has other.sbatch, run.slurm" in said
    assert adopt(repository, "--script", "run.slurm") == ExitCode.OK


def test_what_starts_a_program_of_deepspeed_comes_along(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ("--", "deepspeed", "trainer/main.py", "--deepspeed")
    assert adopt(repository, "--out", str(out), "--name", "d", *command) == ExitCode.OK
    assert "is not in the repository" not in capsys.readouterr().err
    started = (out / "d.sbatch").read_text().replace("\\\n    ", "")
    assert "step.sh slurmpod_start.py --local-rank trainer/main.py --deepspeed" in started
    assert (out / STARTER).read_bytes() == (ROOT / "templates/jobs/adopted" / STARTER).read_bytes()
