"""The commands that docs/jobs.md and docs/resume.md show: each one works as it stands there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from slurmpod.cli.main import parser_of, run
from slurmpod.jobs.recipes.registry import RECIPES
from slurmpod.problems import ExitCode
from tests.golden_files import ROOT
from tests.pure.jobs.tiny_source import tiny_folder

PAGES = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("jobs.md", "resume.md")]
PAGE = "\n".join(PAGES).replace("\\\n", " ")
FOUND = re.findall(r"^    slurmpod (.+)$|`slurmpod (job \w+ [^`]*)`", PAGE, re.MULTILINE)
ALL = [shlex.split(first or second) for first, second in FOUND]
WITH_AWS = ("submit", "stage", "status", "logs", "cancel", "--mirror")
ON_A_CLUSTER = [words for words in ALL if any(each in words for each in WITH_AWS)]
WITH_NODES = [words for words in ALL if words[0] != "job"]
COMMANDS = [words for words in ALL if words not in (*ON_A_CLUSTER, *WITH_NODES)]

P5 = ["job", "plan", "environments/p5-prod.yaml"]
LLAMA = ["--model", "llama2-7b", "--sequence", "4096", "--global-batch", "1024"]


@pytest.fixture(autouse=True)
def _in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "environments", tmp_path / "environments")
    monkeypatch.chdir(tmp_path)


def test_commands_of_the_page_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(COMMANDS) == 24
    Path("ddp.yaml").write_text("steps: 50\n")
    (tiny_folder(Path(), "trainer") / "requirements.txt").write_text("-e .\n")
    Path("torchtitan").mkdir()
    launch = "#!/bin/bash\n#SBATCH --nodes=4\nsrun torchrun -m torchtitan.train --config $CONFIG\n"
    Path("torchtitan/multinode.slurm").write_text(launch.replace("$CONFIG", "${CONFIG:-tiny}"))
    for log in ("train-fsdp2_12.out", "llama_12.out"):
        Path(log).write_text("step 1 loss 5.5\n")
    for command in COMMANDS:
        assert run(command) == ExitCode.OK, command
        assert capsys.readouterr().out


def test_commands_for_a_cluster_are_understood() -> None:
    """What they do is tried in test_submit.py, and on nodes in tests/nodes."""
    on_dev = [
        "submit",
        "submit",
        "venv",
        "submit",
        "stage",
        "stage",
        "submit",
        "submit",
        "status",
        "logs",
        "cancel",
        "logs",
    ]
    on_nodes = ["submit", "submit", "venv", "submit", "submit"]
    assert [words[1] for words in ON_A_CLUSTER] == [*on_dev, *on_nodes]
    for words in ON_A_CLUSTER:
        assert parser_of("job").parse_args(own(words)).file.exists()


def test_drills_are_understood() -> None:
    """One is run in tests/nodes/test_rehearse.py."""
    assert [words[0] for words in WITH_NODES] == ["rehearse", "rehearse", "rehearsal"]
    for words in WITH_NODES:
        assert parser_of(words[0]).parse_args(own(words))


def own(words: list[str]) -> list[str]:
    """Return what our parser takes of a command: no arguments of the job, no other program."""
    ends = [number for number, word in enumerate(words) if word in ("--", "|")]
    return words[1 : min(ends, default=None)]


def test_a_plan_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--tokens", "2T", "--learning-rate", "3e-4", "--at-batch", "1024"]
    assert run([*P5, *LLAMA, *options]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "llama2-7b: 6.74 billion parameters in 32 layers of width 4096\n" in text
    assert "64 nodes of ml.p5.48xlarge in partition p5: 512 x 80 GiB" in text
    assert "476838 steps, 2,000.0 billion tokens\n" in text
    assert "learning rate 0.0003 in proportion" in text
    assert "as OPT-175B (a node fails every 1,729 h" in text


def test_a_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*P5, *LLAMA, "--nodes", "2", "--json"]) == ExitCode.OK
    plan = json.loads(capsys.readouterr().out)
    assert plan["accelerators"]["accelerators"] == 16
    assert {
        mesh["replicate"] * mesh["shard"] * mesh["tensor"] * mesh["pipeline"]
        for mesh in plan["meshes"]
    } == {16}
    assert set(plan["checkpoints"]["failures"]) == {"Llama 3 405B", "OPT-175B"}
    assert plan["learning_rates"] is None


def test_what_does_not_fit_fails(capsys: pytest.CaptureFixture[str]) -> None:
    large = ["--model", "llama3.1-405b", "--sequence", "8192", "--nodes", "2"]
    assert run([*P5, *large, "--global-batch", "16"]) == ExitCode.FAILED
    assert "Nothing fits. Closest first" in capsys.readouterr().out
    assert run([*P5, *large, "--global-batch", "7", "--json"]) == ExitCode.FAILED
    assert json.loads(capsys.readouterr().out)["meshes"] == []


def test_mistakes_are_told_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*P5, "--sequence", "x", "--partition", "p6", "--nodes", "0"]) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    for told in ("--model is missing", "--sequence is 'x'", "--global-batch is missing"):
        assert told in captured.err
    assert "--nodes is '0'" in captured.err
    assert "there is no partition 'p6' (there are: p5)" in captured.err
    assert run([*P5, "--model", "x", "--nodes", "65"]) == ExitCode.USAGE
    told_of_nodes = capsys.readouterr().err
    assert "--model is 'x'" in told_of_nodes
    assert "ask for 1 to 64 nodes" in told_of_nodes


def test_nodes_without_accelerators_have_no_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["job", "plan", "environments/dev.yaml", *LLAMA]) == ExitCode.USAGE
    assert "has no accelerator" in capsys.readouterr().err


def test_the_recipes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["job", "list"]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "train-fsdp2: a PyTorch training" in text
    assert "  needs a Python with PyTorch 2.13 in $PYTHON" in text
    assert "  not on Trainium\n" in text
    assert run(["job", "list", "--json"]) == ExitCode.OK
    shown = json.loads(capsys.readouterr().out)
    assert [recipe["name"] for recipe in shown] == list(RECIPES)
    assert all(recipe["starts"] and recipe["needs"] for recipe in shown)
