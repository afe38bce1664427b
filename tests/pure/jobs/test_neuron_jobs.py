"""The job that prepares a training on Trainium, with stand-ins for what reaches the internet."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from slurmpod.jobs.recipes.trn1_llama2_7b import NXD
from tests.golden_files import ROOT
from tests.pure.jobs.test_render import job_for, resolved_of

TOKEN = "hf_secret"
STAND_IN = """\
#!/bin/bash
echo "$(basename "$0") $*" >> "$RECORD"
"""
PYTHON = f"""{STAND_IN}\
case "$*" in
    -c*) exit "$OLD_PYTHON" ;;
    "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
    prepare_data.py*) [[ $HF_TOKEN == "$TOKEN" ]] && mkdir data-4096 ;;
esac
"""
GIT = f"""{STAND_IN}\
case "$*" in
    clone*) mkdir "${{@: -1}}" ;;
    *rev-parse*) echo "$COMMIT" ;;
esac
"""
AWS = f'{STAND_IN}[[ $TOKEN ]] && echo "$TOKEN"\n'


class Folder:
    """A job's folder, and a PATH with stand-ins that record what they are given."""

    def __init__(self, folder: Path) -> None:
        self.job, self.record = folder / "job", folder / "record.txt"
        rendered = job_for(resolved_of("trn1-llama2"), "trn1-llama2-7b")
        for path in (self.job, folder / "bin"):
            path.mkdir()
        for name, content in rendered.files.items():
            (self.job / name).write_bytes(content)
        for name, text in {"python3": PYTHON, "git": GIT, "aws": AWS}.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        self.variables = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "RECORD": str(self.record),
            "TOKEN": TOKEN,
            "COMMIT": NXD["nxd_commit"],
            "OLD_PYTHON": "0",
        }

    def prepare(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the job that prepares; the record is of this run alone."""
        self.record.write_text("")
        command = ["bash", "trn1-llama2-7b-prepare.sbatch"]
        environment = self.variables | variables
        return subprocess.run(
            command, cwd=self.job, env=environment, capture_output=True, text=True
        )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_all_that_the_training_needs_is_made_once(folder: Folder) -> None:
    done = folder.prepare()
    assert done.returncode == 0, done.stderr
    said = folder.record.read_text().splitlines()
    assert [line.split()[0] for line in said] == [
        "python3",
        "python3",
        "python",
        *["git", "git"],
        "aws",
        "python",
    ]
    (pip,) = [line for line in said if " pip install " in line]
    assert "--extra-index-url=https://pip.repos.neuron.amazonaws.com" in pip
    assert "clone --quiet --depth=1 --branch=v2.28.0 " in said[3]
    assert said[5].startswith("aws secretsmanager get-secret-value --region=us-west-2 ")
    assert "--texts /fsx/texts/*.jsonl --tokenizer meta-llama/Llama-2-7b-hf" in said[6]
    again = folder.prepare()
    assert again.returncode == 0
    assert folder.record.read_text() == ""


def test_the_token_is_in_no_file_and_in_no_argument(folder: Folder) -> None:
    folder.prepare()
    assert TOKEN not in folder.record.read_text()
    files = [path for path in folder.job.rglob("*") if path.is_file()]
    assert not any(TOKEN in path.read_text() for path in files)


def test_another_sdk_is_installed_anew(folder: Folder) -> None:
    folder.prepare()
    (folder.job / "requirements.txt").write_text("neuronx-cc==2\n")
    folder.prepare()
    assert [line.split()[0] for line in folder.record.read_text().splitlines()] == [
        "python3",
        "python3",
        "python",
    ]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"OLD_PYTHON": "1"}, "Neuron 2.28 needs Python 3.10 to 3.12: name one in PYTHON"),
        ({"COMMIT": "0123"}, "the release of NxD is another commit than 22cadad"),
        ({"TOKEN": ""}, "the role of the nodes needs secretsmanager:GetSecretValue on hugg"),
    ],
)
def test_what_is_missing_is_named(variables: dict[str, str], message: str, folder: Folder) -> None:
    done = folder.prepare(**variables)
    assert done.returncode == 1
    assert f"prepare: {message}" in done.stderr
    assert not (folder.job / "data-4096").exists()


@pytest.fixture
def prepare_data(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what the program defines; packages that it imports stay empty."""
    for name in ("datasets", "transformers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    text = (ROOT / "templates" / "jobs" / "trn1-llama2-7b" / "prepare_data.py").read_text()
    found: dict[str, Any] = {"__name__": "prepare_data", "__doc__": "about\n"}
    exec(compile(text, "prepare_data.py", "exec"), found)  # noqa: S102  # our own program
    return SimpleNamespace(**found)


def test_texts_become_blocks_of_one_length(prepare_data: Any) -> None:
    found = prepare_data.blocks([[1, 2, 3], [4], [5, 6, 7]], 3)
    assert found["input_ids"] == [[1, 2, 3], [4, 5, 6]]
    assert found["labels"] == found["input_ids"]
    assert found["attention_mask"] == [[1, 1, 1], [1, 1, 1]]
    assert prepare_data.blocks([[1, 2]], 3)["input_ids"] == []


def test_the_program_takes_what_it_is_given(
    prepare_data: Any, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.prepare()
    words = folder.record.read_text().splitlines()[-1].split()[1:]
    monkeypatch.setattr(sys, "argv", words)
    options = prepare_data._options()
    assert (options.sequence_length, options.least_blocks, options.to) == (
        4096,
        256,
        Path("data-4096"),
    )


def test_a_rounding_is_told_to_the_runtime_and_to_the_program() -> None:
    job = job_for(resolved_of("trn1-llama2"), "trn1-llama2-7b")
    assert b"NEURON_RT_STOCHASTIC_ROUNDING_EN=1\n" in job.files["step.sh"]
    assert b"--use_gpu_compatible_precision 0 " in job.files["trn1-llama2-7b.sbatch"]


SRUN = """\
#!/bin/bash
while [[ $1 != step.sh ]]; do shift; done
printf '%s\\n' "${@:4}" > "$RECORD"
"""
"""A stand-in that notes what the program is given, behind its stage and its name."""


@pytest.mark.parametrize(
    ("script", "steps", "saved_every"),
    [("trn1-llama2-7b-compile.sbatch", 10, 0), ("trn1-llama2-7b.sbatch", 10_000, 7)],
)
def test_only_the_training_saves_checkpoints(
    script: str, steps: int, saved_every: int, folder: Folder
) -> None:
    """The program saves none where this is 0, and takes the last value of an option."""
    srun = folder.record.parent / "bin" / "srun"
    srun.write_text(SRUN)
    srun.chmod(0o755)
    command = ["bash", script, "--checkpoint_freq", "7"]
    subprocess.run(command, cwd=folder.job, env=folder.variables, check=True)
    words = folder.record.read_text().splitlines()
    options = ArgumentParser()
    options.add_argument("--steps_this_run", type=int)
    options.add_argument("--checkpoint_freq", type=int)
    found, _ = options.parse_known_args(words)
    assert (found.steps_this_run, found.checkpoint_freq) == (steps, saved_every)
