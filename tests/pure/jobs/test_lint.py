"""The linter on whole scripts and on nonsense."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Node

from slurmpod.cli.environment import sound_environment
from slurmpod.jobs import bash_tree, shell
from slurmpod.jobs.bash_tree import LONGEST_AT_ONCE
from slurmpod.jobs.lint import all_rules, lint
from slurmpod.problems import Severity
from tests.golden_files import ROOT, assert_matches
from tests.pure.jobs.cluster import LIMITS, SLURM, resolved_cluster
from tools.jobs_page import jobs_page

RESOLVED = resolved_cluster()

PIECES = (
    *("#!/bin/bash\n", "#SBATCH ", "-N", "--nodes", "=", "99999999999", "--time=", "--gres=gpu:"),
    *("--partition", "--account", "--auto-resume=1", "--output", "srun ", "$A", "A=", "${", "}"),
    *("$(", "(", ")", "((", "))", "'", '"', "`", "\\", "\n", "\r\n", "#", "<<E", "E\n", "<", ">"),
    *("hostname", "MASTER_PORT=", "RANDOM", "$SLURM_JOB_NODELIST", "squeue ", "-", "--", ";", "|"),
    *("((1<<4))", "<<'E'\n", "bash -c ", "eval ", "timeout ", "env -u", "A=srun ", '"$(cat <<E\n'),
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


NONSENSE = (
    *("$(", "${", '"', "'", "`", "(", "$((1+", "<<E\n", "A=(", "\\\n", "$(()", "#x\n", "f() "),
    *("a\\\n", "((", "x <<'E'\n", "bash x ", "A='srun x'\n$A\n", ": $(cat <<'E'\n", "if true; "),
    *(
        "master_addr",
        "python -W ",
        "python -u ",
        "$python ",
        "python",
        "/python3 -",
        ",A='",
        ',A="',
    ),
)


@pytest.mark.parametrize("piece", NONSENSE)
@pytest.mark.parametrize(
    "text",
    [
        *("{}", "srun --auto-resume=1 x\nA='{}'\n{})", "#SBATCH -N 2\nsrun bash -c '{}'"),
        "#SBATCH -N 2\nsrun --export='A={}' {}",
    ],
)
def test_work_grows_with_the_length_of_nonsense_and_no_faster(piece: str, text: str) -> None:
    calls, _ = work(text.replace("{}", piece * 200))
    long = text.replace("{}", piece * 800)
    more_calls, parsed = work(long)
    assert more_calls < 6 * calls + 2000
    assert parsed < 6 * len(long) + LONGEST_AT_ONCE


def work(text: str) -> tuple[int, int]:
    """Return how many functions are called to lint a text, and how many bytes are parsed."""
    calls = parsed = 0
    parse = bash_tree._parse

    def counting_parse(piece: str) -> Node:
        nonlocal parsed
        assert len(piece) <= LONGEST_AT_ONCE
        parsed += len(piece)
        return parse(piece)

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    shell.commands_of.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bash_tree, "_parse", counting_parse)
        sys.setprofile(count)
        try:
            lint("long.sbatch", text)
        finally:
            sys.setprofile(None)
    return calls, parsed


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
        *("env A=1 ./main.py", "numactl -N0 ./train", "bash -x ./train.sh", "/opt/bin/torchrun x"),
        *("bash -lc 'A=1 deepspeed x'", "singularity exec --nv x.sif bash -c 'torchrun x'"),
        *("docker run --rm pytorch:2.5 torchrun x", "conda run -n x accelerate launch x"),
        *("llamafactory-cli train x.yaml", "./in_env.sh /fsx/finetune_lora.py"),
    ],
)
def test_a_python_program_on_several_nodes_is_a_training(command: str) -> None:
    text = f"#!/bin/bash\n#SBATCH --open-mode=append\nPYTHON=python3\nsrun {command}\n"
    assert lint("x", text) == ()
    assert rules_of(text.replace("\n", "\n#SBATCH -N 4\n", 1)) == ["JOB-011"]


@pytest.mark.parametrize(
    "command",
    [
        *("hostname", "python --version", "python -c 'import app.py'", "python3 -m pip install x"),
        *("which python", "bash -c 'which python && ls'", "/opt/nccl-tests/build/all_reduce_perf"),
        *("-N 1 python main.py", "-n 1 python main.py", "ls /usr/lib/python3", "python3 -u -c x"),
        *("--auto-resume=0 python main.py", "cp main.py /scratch", "python3 -m venv /scratch/venv"),
        *("rsync -a /fsx/train/ /scratch/train/", "tar xf train.tar train.py", "ls /fsx/train.py"),
        "enroot import -o /scratch/t.sqsh docker://763104351884.dkr.ecr.com/pytorch-training:2.5",
        *("docker pull deepspeed/deepspeed", "aws s3 cp s3://bucket/train.sh /scratch"),
        *("/fsx/training/bin/bench --data=/fsx/train", "pip install deepspeed accelerate"),
        *("bash -c 'mkdir -p /scratch/train && cp -r /fsx/train /scratch'", "env A=1 du -s train"),
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


RESUMING = "#!/bin/bash\n#SBATCH -N 2 --exclusive --open-mode=append\nsrun --auto-resume=1 ./x\n"


@pytest.mark.parametrize(
    "body",
    [
        "sbatch --dependency=afterany:1 <<EOF\n#!/bin/bash\n#SBATCH --nodes=1\nEOF\n",
        "cat > next.sbatch <<'EOF'\n#SBATCH --nodes=1\nEOF\nsbatch next.sbatch\n",
        "echo '#!/bin/bash\n#SBATCH --nodes=1\n' > next.sbatch\n",
    ],
)
def test_directives_of_another_job_are_not_misplaced(body: str) -> None:
    assert rules_of(f"#!/bin/bash\n{body}") == []
    assert rules_of(f"#!/bin/bash\n{body}#SBATCH --nodes=1\n") == ["JOB-004"]


def test_what_is_in_a_here_document_counts() -> None:
    text = (
        "read -r -d '' CMD <<EOF\n"
        "# MASTER_ADDR=$(hostname)\n"
        "echo $SLURM_JOB_NODELIST\n"
        "export MASTER_ADDR=$(hostname) NODES='$SLURM_JOB_NODELIST' LATER=\\$SLURM_JOB_NODELIST\n"
        "python train.py exp_manager.resume_if_exists=False --tensor_parallel_seed=1\n"
        "EOF\n"
    )
    found = [(each.rule, each.where.line, each.where.column) for each in lint("x", RESUMING + text)]
    assert found == [
        ("JOB-021", 7, 8),
        ("JOB-020", 7, 39),
        ("JOB-016", 8, 29),
        ("JOB-032", 8, 54),
    ]
    literal = text.replace("<<EOF", "<<'EOF'")
    assert rules_of(RESUMING + literal) == ["JOB-016", "JOB-032"]


@pytest.mark.parametrize(
    ("reader", "wanted"),
    [
        ("srun --auto-resume=1 bash", ["JOB-021", "JOB-020", "JOB-016"]),
        ("cat > step.sh", ["JOB-016"]),
        ("cat", ["JOB-016"]),
        ("sbatch", ["JOB-002"]),
        ("timeout 5 sbatch --parsable", ["JOB-002"]),
    ],
)
def test_who_reads_a_here_document(reader: str, wanted: list[str]) -> None:
    text = "MASTER_ADDR=$(hostname)\n./x $SLURM_JOB_NODELIST resume_if_exists=False"
    assert rules_of(f"{RESUMING}{reader} <<EOF\n{text}\nEOF\n") == wanted


@pytest.mark.parametrize(
    "line",
    [
        *("MASTER_ADDR=$HOSTNAME", "export head_node_ip=`hostname -i`", "LEADER=$(uname -n)"),
        *("x --main_process_ip $(hostname)", 'x --rdzv-endpoint="$(hostname):29500"'),
        'MASTER_ADDR=$(python -c "import socket; print(socket.gethostname())")',
        "MASTER_ADDR=$(python -c 'import socket as s; print(s.gethostbyname(s.gethostname()))')",
    ],
)
def test_places_to_meet(line: str) -> None:
    assert rules_of(f"{RESUMING}{line}\n") == ["JOB-021"]


@pytest.mark.parametrize(
    "line",
    [
        *("HEADER=$(hostname)", "MASTER_LOG=$HOSTNAME.log", "OVERHEAD=$(hostname)"),
        *("MASTER_PORT=$(hostname | cksum | cut -c 1-4)", "LOG=/fsx/master/$HOSTNAME.log"),
        "CMD=$(cat <<'EOF'\nexport MASTER_ADDR=$(hostname)\nEOF\n)",
    ],
)
def test_what_is_no_place_to_meet(line: str) -> None:
    assert rules_of(f"{RESUMING}{line}\n") == []


@pytest.mark.parametrize("name", ["PORT", "MASTER_PORT", "MASTERPORT", "rdzv_port"])
def test_ports(name: str) -> None:
    assert rules_of(f"#!/bin/bash\n{name}=70000\n") == ["JOB-022"]


@pytest.mark.parametrize("name", ["STEPS_PER_REPORT", "TORCH_CPP_SUPPORT", "PORTS"])
def test_what_is_no_port(name: str) -> None:
    assert rules_of(f"#!/bin/bash\n{name}=100000\n") == []


@pytest.mark.parametrize(
    "line", ['OPTIONS="-h -o %T"; squeue $OPTIONS', 'OPTIONS=(--me -h); squeue "${OPTIONS[@]}"']
)
def test_a_variable_may_hold_the_options_of_squeue(line: str) -> None:
    assert rules_of(f"#!/bin/bash\n{line}\n") == []
    assert rules_of("#!/bin/bash\nJOB=$(sbatch --parsable x)\nsqueue $JOB\n") == ["JOB-006"]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ('$([ -d /opt/sagemaker_cluster ] && echo "--auto-resume=1")', ["JOB-013"]),
        ('" \\\n --kill-on-bad-exit=1 \\\n --auto-resume=1 \\\n"', ["JOB-013"]),
        ('"--label"', ["JOB-011", "JOB-013"]),
    ],
)
def test_what_a_variable_says_of_a_step(options: str, wanted: list[str]) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --exclusive\nA={options}\nsrun $A torchrun train.py\n"
    assert rules_of(text) == wanted


@pytest.mark.parametrize(
    "command",
    [
        "timeout 24h srun torchrun x",
        'SRUN="srun --label"\n$SRUN torchrun x',
        "time -p srun ./train",
    ],
)
def test_a_training_behind_another_word_has_to_resume(command: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --open-mode=append\n{command}\n"
    assert rules_of(text) == ["JOB-011"]


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
    assert lint("x", "#!/bin/bash\n#SBATCH -N 6 --exclusive\n", RESOLVED) == ()


def test_the_page_of_rules_is_fresh(update_golden: bool) -> None:
    assert_matches(ROOT / "docs" / "jobs.md", jobs_page(), update=update_golden)


def test_every_rule_is_on_the_page() -> None:
    page = jobs_page()
    for rule in all_rules():
        assert page.count(rule.id) == 1
        assert rule.source in page


def test_of_several_instance_types_any_may_be_what_the_job_gets() -> None:
    text = "#!/bin/bash\n#SBATCH -N 2 --partition=p5 --gres=gpu:{gpus}\nexport FI_PROVIDER=efa\n"
    flexible = resolved_cluster(SLURM, "ml.g5.2xlarge", "ml.g5.48xlarge")
    assert lint("x", text.format(gpus=8), flexible) == ()
    (problem,) = lint("x", text.format(gpus=9), flexible)
    assert problem.message == (
        "9 GPUs are asked for on a node; ml.g5.2xlarge, ml.g5.48xlarge has 8"
    )


RESUMES = "#!/bin/bash\n#SBATCH -N 2 --exclusive --open-mode=append\n"
IN_CONTAINER = "A=(--container-image=./x.sqsh)"
OUTSIDE = "R=--auto-resume=1"
STEP = 'srun $R "${A[@]}" torchrun x\n'


@pytest.mark.parametrize(
    "branches",
    [
        f'if [ -n "$IMAGE" ]; then {IN_CONTAINER}; fi\nif [[ -z "$IMAGE" ]]; then {OUTSIDE}; fi',
        f"if [ $KIND = box ]; then {IN_CONTAINER}; elif true; then {OUTSIDE}; fi",
        f"if test x; then {IN_CONTAINER}; else {OUTSIDE}; fi",
        f'if [ ! "$IMAGE" ]; then true; else {IN_CONTAINER}; fi\n[ -z "$IMAGE" ] && {OUTSIDE}',
        f"case $X in a) {IN_CONTAINER};; *) {OUTSIDE};; esac",
        f'[ "$K" == a ] && {IN_CONTAINER}\n[ -d /opt/x ] && [ "$K" = b ] && {OUTSIDE}',
    ],
)
def test_a_container_in_another_branch_is_none_of_a_step_that_resumes(branches: str) -> None:
    assert rules_of(f"{RESUMES}{branches}\n{STEP}") == []


@pytest.mark.parametrize(
    "branches",
    [
        f"{IN_CONTAINER}\nif [ -d /opt/sagemaker_cluster ]; then {OUTSIDE}; fi",
        f'if [ -n "$IMAGE" ]; then {IN_CONTAINER}; fi\nif [ -d /opt/x ]; then {OUTSIDE}; fi',
        f'if [ -z "$A" ] || x; then {IN_CONTAINER}; fi\nif [ -n "$A" ]; then {OUTSIDE}; fi',
        f'if [ "$K" != a ]; then {IN_CONTAINER}; fi\nif [ "$K" != b ]; then {OUTSIDE}; fi',
    ],
)
def test_a_container_that_a_run_may_have_is_one(branches: str) -> None:
    assert rules_of(f"{RESUMES}{branches}\n{STEP}") == ["JOB-017"]


def test_a_step_that_resumes_in_the_other_branch_is_enough() -> None:
    steps = "if [ -d /opt/x ]; then srun --auto-resume=1 torchrun x; else srun torchrun x; fi\n"
    assert rules_of(RESUMES + steps) == []


@pytest.mark.parametrize(
    "command",
    [
        *("torchrun bench/test_internode.py", "python -u -m benchmarks.bench_all_to_all"),
        *("python3 /x/all_reduce_bench.py", "python -m torch.distributed.run pytorch-screen.py"),
        *("python utils/evaluate.py", "nsys profile -o x torchrun x.py", "python $EVALUATION"),
    ],
)
def test_a_program_that_measures_is_no_training(command: str) -> None:
    text = "#!/bin/bash\n#SBATCH -N 4\nEVALUATION=/fsx/run_eval.py\n"
    assert rules_of(f"{text}srun {command}\n") == []
    assert rules_of(f"{text}#\nsrun python test_train.py\n") == ["JOB-011", "JOB-013"]


@pytest.mark.parametrize("step", ["srun $CMD", 'srun bash -c "$CMD"', 'srun sh -c "$RUN $FILE"'])
def test_a_training_in_variables_of_variables_has_to_resume(step: str) -> None:
    lines = 'RUN="accelerate launch"\nFILE=/fsx/x.py\nexport CMD="$RUN $FILE --epochs 1"'
    text = f"#!/bin/bash\n#SBATCH -N 4 --open-mode=append\n{lines}\n{step}\n"
    assert rules_of(text) == ["JOB-011"]


@pytest.mark.parametrize("step", ["./run.sh", "bash run.sh", 'bash "$HERE/run.sh"'])
def test_a_script_beside_the_batch_script_is_looked_into(step: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 4 --open-mode=append\nsrun {step}\n"
    beside = {"run.sh": "cd /fsx\nexec torchrun x.py\n"}
    assert [problem.rule for problem in lint("x", text, None, beside.get)] == ["JOB-011"]
    assert lint("x", text, None, {"run.sh": "nvidia-smi\n"}.get) == ()
    assert rules_of(text) == []


def test_generic_resources_are_told_once() -> None:
    text = "#!/bin/bash\n#SBATCH -N 2 --exclusive --open-mode=append --gres=gpu:8\n"
    assert rules_of(f"{text}srun --auto-resume=1 --gpus-per-node=8 ./x\n") == ["JOB-014"]


def test_an_hour_for_a_job_that_resumes_is_noted() -> None:
    text = "#!/bin/bash\n#SBATCH -N 2 --exclusive --open-mode=append --time=60\n"
    (problem,) = lint("x", f"{text}srun --auto-resume=1 ./x\n")
    assert (problem.rule, problem.severity) == ("JOB-015", Severity.NOTE)


@pytest.mark.parametrize(("nodes", "wanted"), [("1", []), ("1-1", []), ("1-2", ["JOB-020"])])
def test_the_list_of_nodes_of_a_job_on_one_node_is_never_old(nodes: str, wanted: list[str]) -> None:
    text = f"#!/bin/bash\n#SBATCH -N {nodes} --exclusive --open-mode=append\n"
    line = "HOSTS=$(scontrol show hostnames $SLURM_JOB_NODELIST)\n"
    assert rules_of(f"{text}{line}srun --auto-resume=1 ./x\n") == wanted


@pytest.mark.parametrize(
    ("port", "wanted"),
    [
        *(("$RANDOM", 0), ("$((RANDOM % 1000))", 0), ("$((RANDOM % 100 + 900))", 900)),
        *(("$((RANDOM % 100 + 1024))", None), ("0", None), ("443", None)),
    ],
)
def test_ports_of_root(port: str, wanted: int | None) -> None:
    messages = [each.message for each in lint("x", f"#!/bin/bash\nMASTER_PORT={port}\n")]
    message = f"MASTER_PORT can be {wanted}, and ports below 1024 are root's"
    assert messages == ([] if wanted is None else [message])


@pytest.mark.parametrize(
    "body", ["srun torchrun x", "torchrun x", 'srun bash -c "python train.py"']
)
@pytest.mark.parametrize(
    ("directive", "wanted"),
    [("#", ["JOB-013"]), ("#SBATCH --no-requeue", []), ("#SBATCH --open-mode=append", [])],
)
def test_slurm_requeues_a_training_that_does_not_ask(
    body: str, directive: str, wanted: list[str]
) -> None:
    assert rules_of(f"#!/bin/bash\n{directive}\n{body}\n") == wanted
    assert rules_of(f"#!/bin/bash\n{directive}\nexport SCRIPT=train.py\npython x.py\n") == []


@pytest.mark.parametrize(
    ("directive", "wanted"),
    [("-N 1", ["JOB-047"]), ("--gres=gpu:1", []), ("-p cpu", []), ("--exclude=ip-10-0-200-1", [])],
)
def test_a_job_without_a_partition_may_get_login_nodes(directive: str, wanted: list[str]) -> None:
    text = f"#!/bin/bash\n#SBATCH {directive}\nsrun hostname\n"
    resolved = resolved_cluster(login=True)
    assert [problem.rule for problem in lint("x", text, resolved)] == wanted
    assert lint("x", text, RESOLVED) == ()


@pytest.mark.parametrize("name", ["gpt2_perf_n16", "setup-test", "benchmark_training", "profile"])
def test_a_job_that_says_it_measures_is_no_training(name: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 4 -J {name}\nsrun torchrun train.py\n"
    assert rules_of(text) == []
    assert rules_of(text.replace(name, "latest-profit")) == ["JOB-011", "JOB-013"]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        # What sbatch of Slurm 24.11.5 said to each, on nodes with 4 CPUs (2 cores) and 16 GiB.
        *(("-n 8", ""), ("-n 9", "JOB-050"), ("-N1 -n 4", ""), ("-N1 -n 5", "JOB-050")),
        *(("-c 4", ""), ("-c 5", "JOB-050"), ("-n 2 -c 3", ""), ("-N1 -n 2 -c 3", "JOB-050")),
        *(
            ("-n 3 -c 3", "JOB-050"),
            ("-N1-2 -n 8", ""),
            ("-O -N1 -n 8", ""),
            ("--mincpus=5", "JOB-050"),
        ),
        *(("-N2 --ntasks-per-node=4", ""), ("-N2 --ntasks-per-node=5", "JOB-050")),
        *(("-n 4 --ntasks-per-node=2", ""), ("-n 5 --ntasks-per-node=2", "JOB-050")),
        *(("-N1 -n 2 --threads-per-core=1", ""), ("-N1 -n 4 --threads-per-core=1", "JOB-050")),
        *(
            ("-N1 -n 4 --hint=nomultithread", "JOB-050"),
            ("-N1 -n 4 --ntasks-per-core=1", "JOB-050"),
        ),
        *(
            ("-N1 -c 4 --ntasks-per-core=1", ""),
            ("--ntasks-per-node=2 -c 2 --hint=compute_bound", "JOB-050"),
        ),
        *(("--mem=16384", ""), ("--mem=16385", "JOB-051"), ("--mem=0 --exclusive", "")),
        *(("--mem-per-cpu=8G -n 4 -N1", ""), ("--mem-per-cpu=8G -c 4", "JOB-051")),
        *(("--gres=gpu:1", "JOB-042"), ("-G 1", "JOB-042"), ("--gres=none", "")),
        *(("--prefer=x", "JOB-052"), ("-C x", "JOB-052"), ("-x nowhere", "JOB-058")),
        *(
            ("-a 0-1000", ""),
            ("-a 0-1001", "JOB-057"),
            ("-a 0-9:5%5000", ""),
            ("-a 7,1001", "JOB-057"),
        ),
    ],
)
def test_what_sbatch_says_of_nodes_with_four_cpus(options: str, wanted: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -p cpu {options}\nhostname\n"
    assert [each.rule for each in lint("x", text, RESOLVED)] == wanted.split()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        *(("-G 32", ""), ("-G 33", "JOB-042"), ("-N1 -G 9", "JOB-042"), ("--gpus-per-node=8", "")),
        *(("-n 32 --gpus-per-task=1", ""), ("-n 33 --gpus-per-task=1", "JOB-042 JOB-050")),
        *(
            ("--gpus-per-node=8 --cpus-per-gpu=24", ""),
            ("--gpus-per-node=8 --cpus-per-gpu=25", "JOB-050"),
        ),
        *(("--gpus-per-node=h100:8", "JOB-056"), ("-G h100:9", "JOB-056")),
    ],
)
def test_what_sbatch_says_of_four_nodes_with_eight_gpus(options: str, wanted: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -p p5 {options}\nhostname\n"
    assert sorted(each.rule for each in lint("x", text, RESOLVED)) == wanted.split()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        *(("-p cpu -t 1-0", ""), ("-p cpu -t 1-00:00:01", "JOB-053"), ("-p cpu -t 0", "JOB-053")),
        *(
            ("-p cpu -t UNLIMITED", "JOB-053"),
            ("-p p5 -t UNLIMITED", ""),
            ("-p p5,cpu -t 7-0", "JOB-053"),
        ),
        *(("-p cpu --time-min=2-0", "JOB-053"), ("-p p5,cpu --time-min=2-0", "")),
        *(("-p p5 -q urgent -t 61", "JOB-065"), ("-p p5 -q urgent -t 60", "")),
        *(("-p cpu -A vision -q urgent", "JOB-055"), ("-p cpu -A language -q urgent", "")),
    ],
)
def test_limits_of_partitions_and_qos(options: str, wanted: str) -> None:
    text = f"#!/bin/bash\n#SBATCH {options}\nhostname\n"
    assert [each.rule for each in lint("x", text, resolved_cluster(LIMITS))] == wanted.split()


def test_scripts_of_the_users_own_may_give_nodes_features() -> None:
    lifecycle = replace(RESOLVED.lifecycle, hooks={"hooks/features.sh": "scontrol update ..."})
    text = "#!/bin/bash\n#SBATCH -p cpu -C x\nhostname\n"
    assert lint("x", text, replace(RESOLVED, lifecycle=lifecycle)) == ()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        *(("--gpus-per-task=1", "JOB-009"), ("--gpus-per-task=1 -n 2", ""), ("-m x", "JOB-008")),
        *(("--cpus-per-gpu=1", "JOB-009"), ("--cpus-per-gpu=1 -G 1", ""), ("-m plane=2", "")),
        *(("--cpus-per-gpu=1 -c 1 -G 1", "JOB-009"), ("--hint=x", "JOB-008")),
        *(("--hint=x --threads-per-core=2", ""), ("--hint=x --cores-per-socket=1", "")),
        *(("--begin=now+1hour --deadline=now+5minutes", "JOB-009"), ("--deadline=now+5", "")),
        *(("--mail-type=FOO", "JOB-008"), ("--mail-type=end,TIME_LIMIT_80", "")),
        *(("--gres=foo:1", "JOB-052"), ("--hint=NoMultithread", "")),
        *(("--threads-per-core=2", ""), ("--threads-per-core=3", "JOB-050")),
        *(("--time-min=5 -t 4", "JOB-009"), ("-O -c 193", "JOB-050"), ("-O -N1 -n 400", "")),
        *(("--time-min=0", "JOB-009"), ("--time-min=-1", "JOB-009"), ("--time-min=1-", "")),
        *(("--deadline=now -t 1", "JOB-009"), ("--deadline=now-1hour", "JOB-009")),
        *(("--begin=now-1hour", ""), ("--begin=now-1hour --deadline=now+5 -t 9", "JOB-009")),
        *(("--gpus-per-task=1 -N 2", ""), ("--gpus-per-task=1 -N 1-2", "JOB-009")),
        *(("--gpus-per-task=0", ""), ("--gpus-per-socket=0", ""), ("--mem-per-gpu=0", "")),
        *(("--gpus-per-task=1 -G 0", "JOB-009"), ("--cpus-per-gpu=1 --gres=none", "JOB-009")),
        *(("--cpus-per-gpu=1 --ntasks-per-gpu=1 -n 1", ""), ("--mem-per-gpu=1G -G 0", "JOB-009")),
        *(("--ntasks-per-gpu=2", "JOB-009"), ("--ntasks-per-gpu=2 -G 8", "")),
        *(("--ntasks-per-gpu=2 -n 9", "JOB-009"), ("--ntasks-per-gpu=2 -n 8", "")),
        *(("--ntasks-per-gpu=2 -n 1", ""), ("--ntasks-per-gpu=2 -n 9 --gres=gpu:8", "")),
        ("--ntasks-per-gpu=2 --ntasks-per-tres=3 -G 2", "JOB-009"),
        ("--ntasks-per-gpu=2 -G 2 --ntasks-per-node=2", "JOB-009"),
        *(("-S 1 --thread-spec=1", "JOB-009"), ("-G 1 -N 2", "JOB-009"), ("-G 2 -N 1-3", "")),
        *(("-G 3 --gpus-per-node=2", "JOB-009"), ("-G 4 --gpus-per-node=2 -N 1", "JOB-009")),
        *(("-G 4 --gpus-per-node=2 -N 2", ""), ("-G 3 --gpus-per-task=1 -n 2", "JOB-009")),
        *(("-G 4 --gpus-per-task=2", ""), ("-G 3 --gpus-per-task=2", "JOB-009")),
        ("--ntasks-per-core=2 --threads-per-core=1", "JOB-009"),
        *(("-m arbitrary", "JOB-009"), ("-m arbitrary -N 1", "JOB-009")),
        *(("--gpus-per-node=9", "JOB-042"), ("--gpus-per-node=9 --gres=gpu:8", "")),
        *(("--gpus-per-task=9 -N 2", "JOB-042"), ("--gpus-per-node=1.5", "JOB-056")),
        *(("-G 8 --cpus-per-gpu=96", ""), ("-G 8 --cpus-per-gpu=97", "JOB-050")),
        *(("-G 4 --ntasks-per-gpu=192", ""), ("-G 4 --ntasks-per-gpu=193", "JOB-050")),
        *(("-O --ntasks-per-node=192", ""), ("-O --ntasks-per-node=193", "JOB-050")),
        *(("--cores-per-socket=48", ""), ("--cores-per-socket=49", "JOB-050")),
        *(("--cores-per-socket=97 --hint=multithread", ""), ("--sockets-per-node=3", "JOB-050")),
        *(("--sockets-per-node=3 -B 2", ""), ("-B 2 --sockets-per-node=3", "JOB-050")),
        *(("-B 2:48:2", ""), ("-B 2:49", "JOB-050"), ("-B *:*:3", "JOB-050"), ("-B *", "")),
        *(
            ("-N1 -B 2:2:2 -c 24", ""),
            ("-N1 -B 2:2:2 -c 25", "JOB-050"),
            ("-n 1 -B 2:2:2 -c 25", ""),
        ),
        *(("-N 2 --cores-per-socket=8 -c 24", ""), ("-N 1 --cores-per-socket=8 -c 25", "JOB-050")),
        *(("--hint=memory_bound --mincpus=96", ""), ("--hint=memory_bound -c 97", "JOB-050")),
        *(("--ntasks-per-core=2 -B *:*:1", "JOB-009"), ("--hint=x -B 2", "")),
        *(("--ntasks-per-node=8 --ntasks-per-socket=4", ""), ("--array=1-", "JOB-008")),
        ("--ntasks-per-node=9 --ntasks-per-socket=4", "JOB-050"),
        ("--ntasks-per-node=2 --mincpus=3", "JOB-050"),
        *(("--ntasks-per-node=2 --mincpus=3 --exclusive", ""), ("-G x:y", "JOB-008")),
        *(("--ntasks-per-gpu=96 -B 2", ""), ("--ntasks-per-gpu=5 -B 2:2:1", "")),
        *(("-N 2 -m plane=2 -n 3", ""), ("-N 2 -m plane=2 -n 2", "JOB-009")),
        *(("--deadline=16:00 --time=3-0", "JOB-009"), ("--deadline=16:00 --time=12:00:00", "")),
        *(("--gpus-per-socket=4 -B *:2", "JOB-009"), ("--gpus-per-socket=4 -B 2:*", "")),
        ("--ntasks-per-tres=4 --cores-per-socket=2", "JOB-009"),
        *(("--gpus-per-task=1.5 -n 2", ""), ("--gpus-per-task=h100:1 -n 2", "JOB-056")),
        *(("--gpus-per-socket=5 -B 2", "JOB-042"), ("--gpus-per-task=1 -B 2:*", "")),
        *(("--ntasks-per-gpu=193 -n 4", "JOB-050"), ("--ntasks-per-gpu=192 -n 4", "")),
        *(("--deadline=now --begin=16:00", "JOB-009"), ("--deadline=now+1day --begin=16:00", "")),
        *(("--array", "JOB-008"), ("--array=", ""), ("-a", "JOB-008"), ("--comment", "JOB-008")),
        *(("-a -p", "JOB-008"), ("-HN", "JOB-008"), ("--hold", "")),
        *(("--deadline=1999-01-01", "JOB-009"), ("--deadline=2199-01-01", "")),
        *(("--begin=2199-01-01 --deadline=now+5", "JOB-009"), ("--gpus-per-task=x:y", "")),
        *(("--ntasks-per-gpu=9 -n 1 -G 1 ", ""), ("-n 3 --ntasks-per-node=97 -c 2", "JOB-050")),
        *(("--ntasks-per-socket=97 -c 2", "JOB-050"), ("--ntasks-per-core=193", "JOB-050")),
        *(("--ntasks-per-core=193 -O", ""), ("--ntasks-per-core=193 --ntasks-per-node=2", "")),
        ("--ntasks-per-core=193 --ntasks-per-socket=2", ""),
        *(
            ("-N 0 --tmp=1G --mem=3T", "JOB-051 JOB-052"),
            ("-N 0 --contiguous --tmp=1G --mem=3T", ""),
        ),
        *(
            ("-N 0 --spread-job --mem=3T", ""),
            ("--spread-job --mem=3T", "JOB-051"),
        ),
        *(("-N 9 -n 4", ""), ("-N 9 -n 5", "JOB-041")),
        *(("-N 1 # why", ""), ("-N 1 --", ""), ("--mail-type=END FAIL", "JOB-007")),
        *(("-N 1 torchrun", "JOB-007"), ("--nodes = 1", "JOB-008")),
    ],
)
def test_what_sbatch_says_of_options_together(options: str, wanted: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -p p5 {options}\nhostname\n"
    assert [each.rule for each in lint("x", text, RESOLVED)] == wanted.split()


@pytest.mark.parametrize(("options", "wanted"), [("-c 4", ""), ("-c 24", "JOB-050")])
def test_each_of_several_partitions_has_as_many_cpus_in_all(options: str, wanted: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -p cpu,p5 {options}\nhostname\n"
    assert [each.rule for each in lint("x", text, resolved_cluster(LIMITS))] == wanted.split()


def test_of_several_partitions_one_with_large_nodes_is_enough() -> None:
    text = "#!/bin/bash\n#SBATCH -p cpu,p5 --mem=64G -c 8 --gres=gpu:8\nhostname\n"
    assert lint("x", text, RESOLVED) == ()


@pytest.mark.parametrize(("nodes", "wanted"), [("2-3", ""), ("2", "JOB-050")])
def test_in_a_range_of_nodes_sbatch_reckons_with_one_task(nodes: str, wanted: str) -> None:
    options = f"--nodes={nodes} --ntasks-per-node=1 -c 8"
    text = f"#!/bin/bash\n#SBATCH -p cpu,p5 {options}\nhostname\n"
    assert [each.rule for each in lint("x", text, resolved_cluster(LIMITS))] == wanted.split()


@pytest.mark.parametrize(("sockets", "wanted"), [(1, ""), (2, ""), (3, "JOB-050")])
def test_where_nobody_knows_the_sockets_both_numbers_are_taken(sockets: int, wanted: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -p p5 --sockets-per-node={sockets}\nhostname\n"
    cluster = resolved_cluster(SLURM, "ml.m5.24xlarge")
    assert [each.rule for each in lint("x", text, cluster)] == wanted.split()


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        ("srun torchrun x", ["JOB-013"]),
        ("srun torchrun x >> /fsx/x.log 2>&1", []),
        ("srun torchrun x &>> /fsx/x.log", []),
        ("srun torchrun x > /fsx/x.log", ["JOB-013"]),
        ("srun --output=/fsx/x.log --open-mode=append torchrun x", []),
        ("srun --output=/fsx/x.log torchrun x", ["JOB-013"]),
        ("srun torchrun x\nsrun hostname >> /fsx/x.log", ["JOB-013"]),
    ],
)
def test_a_step_that_appends_to_its_own_log_keeps_it(step: str, wanted: list[str]) -> None:
    assert rules_of(f"#!/bin/bash\n{step}\n") == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("srun ./a &\nsrun ./b &\nwait\n", []),
        ("srun ./a &\nwait\nsrun ./b &\n", ["JOB-064"]),
        ("srun ./a && srun ./b\n", []),
        ("for i in 1 2; do srun ./a & done\nwait\n", []),
        ("for i in 1 2; do srun ./a > $i.log & done\n", ["JOB-064"]),
    ],
)
def test_steps_in_the_background(body: str, wanted: list[str]) -> None:
    assert rules_of(f"#!/bin/bash\n{body}") == wanted


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        ("srun --ntasks-per-node=8 python -m torch.distributed.run --nproc_per_node=8 x", True),
        ("srun -n 16 torchrun --nproc-per-node gpu x", True),
        ("GPUS=8\nsrun -n 16 torchrun --nproc-per-node=$GPUS x", True),
        ("srun -n 16 torchrun --nproc-per-node=1 x", False),
        ("srun -n 16 torchrun --nproc-per-node=$UNKNOWN x", False),
        ("srun -n 2 torchrun --nproc-per-node=8 x", False),
        ("srun -N 1 -n 1 torchrun --nproc-per-node=8 x", False),
        ("srun $OPTIONS -n 16 torchrun --nproc-per-node=8 x", False),
    ],
)
def test_torchrun_in_several_tasks_of_a_node(step: str, wanted: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 -J test --open-mode=append\n{step}\n"
    assert ("JOB-060" in rules_of(text)) == wanted


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("bash -c 'torchrun --rdzv_endpoint=$(hostname):1 x'", True),
        ("bash -c 'export MASTER_ADDR=$HOSTNAME; ./x'", True),
        ('bash -c "torchrun --rdzv_endpoint=$(hostname):1 x"', False),
        ("torchrun --rdzv_endpoint=$(hostname):1 x", False),
        ("-N 1 bash -c 'torchrun --rdzv_endpoint=$(hostname):1 x'", False),
        ("bash -c '[ $SLURM_NODEID = 0 ] && MASTER_ADDR=$(hostname)'", False),
    ],
)
def test_the_host_that_each_task_asks_for_its_name(command: str, wanted: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 -J test --open-mode=append\nsrun {command}\n"
    assert ("JOB-062" in rules_of(text)) == wanted


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        *(("srun ./x", True), ("srun -n 1 ./x", False), ("srun --ntasks-per-node=1 ./x", False)),
        ("srun --label $OPTIONS ./x", False),
    ],
)
def test_copies_of_a_program_for_whose_tasks_there_is_no_number(step: str, wanted: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH --exclusive -c 8\n{step}\n"
    assert ("JOB-063" in rules_of(text)) == wanted


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("--mem-per-cpu=5G --ntasks-per-node=3", ""),
        ("--mem-per-cpu=5G --ntasks-per-node=4", "JOB-051"),
        ("--mem-per-cpu=5G --ntasks-per-node=4 -O", ""),
        ("--mem-per-cpu=5G --mincpus=4", "JOB-051"),
        *(("-O -n 9", ""), ("-O -n 9 -c 2", "JOB-050")),
        ("--ntasks-per-node=5 --tasks-per-node=3", ""),
        ("--ntasks-per-node=3 --tasks-per-node=5", "JOB-050"),
        *(("-q normal,URGENT", ""), ("-q normal,normal", "JOB-055")),
        *(("-q normal,spare", "JOB-055"), ("-q normal,x", "JOB-044 JOB-055")),
        *(("-N 1k", "JOB-041"), ("-N 1k-2", "JOB-008 JOB-041")),
    ],
)
def test_what_sbatch_says_of_two_nodes_with_four_cpus(options: str, wanted: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -p cpu {options}\nhostname\n"
    resolved = sound_environment(ROOT / "tests/cases/jobs/environment.yaml").resolved
    assert [each.rule for each in lint("x", text, resolved)] == wanted.split()


@pytest.mark.parametrize(
    ("options", "slurm", "wanted"),
    [
        *(("--hint=x --cores-per-socket=1", "24.11", "JOB-008"), ("--hint=x -B 1", "24.11", "")),
        *(("--hint=x --cores-per-socket=1", each, "") for each in ("", "25.11", "26.05")),
        ("--hint=multithread --sockets-per-node=9", "25.11", "JOB-050"),
        *(("--gpus-per-node=8 --gres=gpu:8", each, "") for each in ("", "24.11", "25.11")),
        ("--gpus-per-node=8 --gres=gpu:8", "26.05", "JOB-009"),
        *(("-n 1 --ntasks-per-node=2", each, "") for each in ("", "24.11")),
        ("-n 1 --ntasks-per-node=2", "26.05", "JOB-050"),
        *(("-n 1 --ntasks-per-node=2" + each, "26.05", "") for each in (" -O", " --exclusive")),
        *(("-O -c 2 -n 2", each, "") for each in ("", "26.05")),
        ("-O -c 2 -n 2", "24.11", "JOB-050"),
        ("-O -c 2 -n 2 -N 2", "24.11", ""),
        *(("-O -c 2 --ntasks-per-node=2", each, "JOB-050") for each in ("", "24.11", "26.05")),
        ("--gpus-per-node=8 --gres=none", "26.05", ""),
        ("--hint=multithread --sockets-per-node=9", "24.11", ""),
    ],
)
def test_some_options_are_read_by_one_version_only(options: str, slurm: str, wanted: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -p p5 {options}\nhostname\n"
    assert [each.rule for each in lint("x", text, RESOLVED, slurm=slurm)] == wanted.split()
