"""GPUs that jobs hold: the lines that the controller leaves of what scontrol prints."""

from __future__ import annotations

import subprocess

import pytest

from slurmpod.slurm.gpus import HeldGpus, held, read_held
from tests.pure.exporter.fake_host import sample

ON_NODE = "     Nodes=n1 CPU_IDs=0 Mem=0 GRES=%s"


def printed(scontrol: str) -> str:
    """Return what the command prints where scontrol prints that."""
    script = f"scontrol() {{ cat; }}; {held()}"
    return subprocess.run(
        ["sh", "-c", script], input=scontrol, capture_output=True, text=True, check=True
    ).stdout


def test_jobs_are_called_as_squeue_calls_them() -> None:
    assert read_held(printed(sample("scontrol-jobs.txt"))) == (
        HeldGpus("4711", "ip-10-0-0-[9-10]", "0-1"),
        HeldGpus("4712_3", "ip-10-0-0-9", "3,5-6"),
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("JobId=7 JobName=a b|c d", "7"),
        ("JobId=9 HetJobId=8 HetJobOffset=1 JobName=x", "8+1"),
        ("JobId=9 ArrayJobId=8 ArrayTaskId=0 JobName=x", "8_0"),
        ("JobId=9 JobName=ArrayJobId=8 ArrayTaskId=0", "9"),
    ],
)
def test_names_that_users_give_change_nothing(name: str, shown: str) -> None:
    (found,) = read_held(printed(f"{name}\n{ON_NODE % 'gpu:1(IDX:3)'}\n")) or ()
    assert found == HeldGpus(shown, "n1", "3")


def test_other_resources_are_no_gpus() -> None:
    gres = "nic:2(IDX:0-1),gpu:a10g:1(IDX:0),gpu:h100:2(IDX:4,7)"
    (found,) = read_held(printed(f"JobId=7 JobName=x\n{ON_NODE % gres}\n")) or ()
    assert (found.numbers, found.count) == ("0,4,7", 3)


def test_a_gpu_counts_on_each_node() -> None:
    assert HeldGpus("7", "n[1-3,8]", "0-7").count == 32


def test_no_jobs_and_no_answer_are_told_apart() -> None:
    assert read_held(printed("No jobs in the system\n")) == ()
    assert read_held(printed("")) is None
