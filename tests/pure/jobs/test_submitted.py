"""Batch scripts that a script hands to sbatch in a here document."""

from __future__ import annotations

from slurmpod.jobs.lint import lint, shows_training, verdict
from tests.pure.jobs.cluster import resolved_cluster

RESOLVED = resolved_cluster()
OPENS = "#!/bin/bash\nNODES=2\nfor each in 1 2; do\n"
"""Three lines before the command."""


def found(text: str) -> list[tuple[str, int]]:
    return [(each.rule, each.where.line) for each in lint("x", OPENS + text, RESOLVED)]


def test_what_is_wrong_in_one_is_found_where_it_stands() -> None:
    text = """sbatch <<EOF
#!/bin/bash
#SBATCH --ntask-per-node=1
srun hostname
EOF
done
"""
    assert found(text) == [("JOB-007", 6)]
    assert found(text.replace("#!/bin/bash\n", "")) == [("JOB-002", 5), ("JOB-007", 5)]
    assert found(text.replace("sbatch <<", "cat <<")) == []


def test_options_of_the_command_count_with_what_the_script_says_of_them() -> None:
    job = "#!/bin/bash\nsrun torchrun --nnodes=2 --rdzv_endpoint=localhost:1 train.py\nEOF\ndone\n"
    several = [("JOB-011", 6), ("JOB-062", 6)]
    assert found(f"sbatch --open-mode=append <<EOF\n{job}") == []
    assert found(f"sbatch --open-mode=append -N $NODES <<EOF\n{job}") == several
    assert found(f"sbatch --open-mode=append -N $UNKNOWN <<EOF\n{job}") == []


def test_the_shell_fills_in_variables_unless_the_end_is_quoted() -> None:
    job = "#!/bin/bash\n#SBATCH --nodes=$NODES --time=$UNKNOWN\nsrun hostname\nEOF\ndone\n"
    assert found(f"sbatch <<EOF\n{job}") == []
    assert found(f"sbatch <<'EOF'\n{job}") == [("JOB-008", 6), ("JOB-008", 6)]


def test_a_backslash_keeps_a_variable_for_the_job() -> None:
    torchrun = "torchrun --nnodes=2 --master_addr=a --node_rank=\\$SLURM_NODEID train.py"
    job = f"#!/bin/bash\n#SBATCH -N 2\nsrun --auto-resume=1 {torchrun}\nEOF\ndone\n"
    assert found(f"sbatch --exclusive --open-mode=append <<EOF\n{job}") == [("JOB-067", 7)]


def test_a_training_in_one_is_a_training() -> None:
    text = "#!/bin/bash\nsbatch <<EOF\n#!/bin/bash\nsrun torchrun train.py\nEOF\n"
    assert shows_training("x", text)
    assert not shows_training("x", text.replace("torchrun train.py", "hostname"))


def test_sbatch_takes_a_script_whatever_it_submits() -> None:
    text = "#!/bin/bash\n#SBATCH --partition=cpu\nsbatch <<EOF\nno script\nEOF\n"
    assert verdict(text, RESOLVED) == ()
