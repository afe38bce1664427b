"""The linter on whole scripts and on nonsense."""

from __future__ import annotations

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
