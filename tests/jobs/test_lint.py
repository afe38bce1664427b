"""The linter on whole scripts and on nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmpod.jobs.documentation import jobs_page
from slurmpod.jobs.lint import all_rules, lint
from tests.golden_files import ROOT, assert_matches
from tests.jobs.cluster import resolved_cluster

RESOLVED = resolved_cluster()

PIECES = (
    *("#!/bin/bash\n", "#SBATCH ", "-N", "--nodes", "=", "99999999999", "--time=", "--gres=gpu:"),
    *("--partition", "--account", "--auto-resume=1", "--output", "srun ", "$A", "A=", "${", "}"),
    *("$(", "(", ")", "((", "))", "'", '"', "`", "\\", "\n", "\r\n", "#", "<<E", "E\n", "<", ">"),
    *("hostname", "MASTER_PORT=", "RANDOM", "$SLURM_JOB_NODELIST", "squeue ", "-", "--", ";", "|"),
    *("\0", "é", "²", "٣", "\x1b[31m", "torchrun", "%", ",", "hetjob", "\t", "\u2028"),
)
ODD_SCRIPTS = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))


@given(ODD_SCRIPTS)
def test_odd_scripts_are_judged_like_any_other(text: str) -> None:
    last_line = text.count("\n") + 1
    for problem in lint("odd.sbatch", text, RESOLVED):
        assert 1 <= problem.where.line <= last_line
        assert problem.where.column >= 1
        assert problem.message
        assert problem.fix


def test_long_nonsense_is_read_once() -> None:
    for piece in ("$(", "${", '"', "'", "`", "(", "$((1+", "<<E\n", "A=(", "\\\n", "$(()", "#x\n"):
        lint("long.sbatch", piece * 20_000)
    for piece in ("python -W ", "python -u ", "$python ", "python", "/python3 -", ",A='", ',A="'):
        lint("long.sbatch", f"#SBATCH -N 2\nsrun --export='A={piece * 20_000}' {piece * 20_000}")
        lint("long.sbatch", f"#SBATCH -N 2\nsrun bash -c '{piece * 20_000}'")


@pytest.mark.parametrize(
    "command",
    [
        *(
            "python main.py",
            "python3.11 -u main.py --x",
            "/fsx/venv/bin/python -m app",
            "./main.py",
        ),
        *(
            "env A=1 python -W ignore main.py",
            "numactl -N 0 python -O $SCRIPT",
            "${PYTHON} main.py",
        ),
        *("bash -c 'cd /fsx && python main.py'", "$(which python3) main.py", "torchrun main.py"),
    ],
)
def test_a_python_program_on_several_nodes_is_a_training(command: str) -> None:
    text = f"#!/bin/bash\nPYTHON=python3\nsrun {command}\n"
    assert lint("x", text) == ()
    assert rules_of(text.replace("\n", "\n#SBATCH -N 4\n", 1)) == ["JOB-011"]


@pytest.mark.parametrize(
    "command",
    [
        *("hostname", "python --version", "python -c 'import app.py'", "python3 -m pip install x"),
        *("which python", "bash -c 'which python && ls'", "/opt/nccl-tests/build/all_reduce_perf"),
        *("-N 1 python main.py", "-n 1 python main.py", "ls /usr/lib/python3", "python3 -u -c x"),
        *("--auto-resume=0 python main.py", "cp main.py /scratch", "python3 -m venv /scratch/venv"),
    ],
)
def test_what_is_no_training_on_several_nodes(command: str) -> None:
    assert lint("x", f"#!/bin/bash\n#SBATCH -N 4\nsrun {command}\n") == ()


def test_a_step_without_gres_resumes() -> None:
    directives = "#SBATCH -N 2 --exclusive --open-mode=append"
    step = "srun --auto-resume=1 --gres={} ./train.sh\n"
    text = f"#!/bin/bash\n{directives}\n{step}"
    assert rules_of(text.format("gpu:8")) == ["JOB-014"]
    assert rules_of(text.format("none")) == []


def rules_of(text: str) -> list[str]:
    return [problem.rule for problem in lint("x", text)]


def test_without_an_environment_nothing_is_said_about_one() -> None:
    text = "#!/bin/bash\n#SBATCH --partition=nowhere --nodes=999 --account=nobody\n"
    assert lint("x", text) == ()
    assert [problem.rule for problem in lint("x", text, RESOLVED)] == ["JOB-040", "JOB-043"]


def test_accounts_are_not_judged_where_slurm_does_not_check_them() -> None:
    text = "#!/bin/bash\n#SBATCH --account=nobody\n"
    assert lint("x", text, resolved_cluster({"accounts": [{"name": "research"}]})) == ()


def test_a_partition_gives_one_job_no_more_than_its_limit() -> None:
    text = "#!/bin/bash\n#SBATCH -N 4\n"
    limits = {"partitions": [{"name": "p5", "default": True, "max_nodes": 3}]}
    (problem,) = lint("x", text, resolved_cluster(limits))
    assert problem.message == "the job asks for 4 nodes, but p5 gives 3"


def test_a_job_that_names_no_partition_has_all_workers() -> None:
    assert lint("x", "#!/bin/bash\n#SBATCH -N 6 --gres=gpu:8\n", RESOLVED) == ()


def test_the_page_of_rules_is_fresh(update_golden: bool) -> None:
    assert_matches(ROOT / "docs" / "jobs.md", jobs_page(), update=update_golden)


def test_every_rule_is_on_the_page() -> None:
    page = jobs_page()
    for rule in all_rules():
        assert page.count(rule.id) == 1
        assert rule.source in page
