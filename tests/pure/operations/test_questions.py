"""Answers of one session, told apart by their marks."""

from __future__ import annotations

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.questions import END, MARK, read_answers


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_a_node_prints_is_told_apart_by_its_marks(newline: str) -> None:
    lines = ["Starting session", f"{MARK} slurm.conf", "A=1", "B=2", f"{MARK} slurm", "slurm 24"]
    printed = newline.join([*lines, f"{MARK} {END}", "", "Exiting session"])
    parts = read_answers(printed, "head")
    assert (parts["slurm.conf"], parts["slurm"]) == ("A=1\nB=2\n", "slurm 24\n")
    with pytest.raises(AwsUnavailable, match=r"head gave an incomplete answer: .*slurm 24"):
        read_answers(newline.join(lines), "head")


def test_an_answer_that_is_missing_is_no_mistake_of_ours() -> None:
    answers = read_answers(f"{MARK} slurm\nslurm 24\n{MARK} {END}\n", "head")
    with pytest.raises(AwsUnavailable, match="head did not answer a query: nodes"):
        answers["nodes"]
