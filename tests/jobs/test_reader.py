"""What the reader makes of scripts: the same as sbatch and bash, without running anything."""

from __future__ import annotations

import pytest

from slurmpod.jobs.durations import minutes
from slurmpod.jobs.ports import highest
from slurmpod.jobs.script import Script, read_script


def script(*lines: str) -> Script:
    return read_script("x.sbatch", "\n".join(("#!/bin/bash", *lines, "")))


def options(*lines: str) -> list[tuple[str, str]]:
    return [(option.name, option.value) for option in script(*lines).options]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("#SBATCH --nodes=2", [("nodes", "2")]),
        ("#SBATCH --nodes 2 --exclusive # all of it", [("nodes", "2"), ("exclusive", "")]),
        ("#SBATCH -N2 -H -p cpu", [("nodes", "2"), ("hold", ""), ("partition", "cpu")]),
        ('#SBATCH --comment="a b"', [("comment", "a b")]),
        ("#SBATCH --exclusive --requeue", [("exclusive", ""), ("requeue", "")]),
        ("##SBATCH --nodes=2", []),
        ("# SBATCH --nodes=2", []),
    ],
)
def test_directives(line: str, wanted: list[tuple[str, str]]) -> None:
    assert options(line) == wanted


def test_the_last_directive_counts() -> None:
    assert script("#SBATCH -N 2", "#SBATCH -N 3-4").fewest_nodes == 3


def test_options_of_the_next_component_are_not_the_first_ones() -> None:
    assert options("#SBATCH -N 2", "#SBATCH hetjob", "#SBATCH -N 9") == [("nodes", "2")]


def test_a_step_on_several_lines() -> None:
    (step,) = script("set -e", "time srun -l \\", "  --nodes 2 \\", "  ./a --nodes=3").steps
    assert [(option.name, option.place.line) for option in step.options] == [
        ("label", 3),
        ("nodes", 4),
    ]
    assert [word.text for word in step.command] == ["./a", "--nodes=3"]


@pytest.mark.parametrize(
    "line",
    [
        "if srun -N 1 x; then echo; fi",
        "A=b /opt/slurm/bin/srun -N 1 x > out 2>&1 &",
        "( cd /fsx && srun -N 1 x ) | tee log",
        "run() { srun -N 1 x; }",
        "for i in 1 2; do srun -N 1 x; done",
        "echo 'it''s' \"a # b\" # don't\nsrun -N 1 x",
        "cat <<-EOF <<'B'\n\tdon't srun -N 9\n\tEOF\nsrun -N 9\nB\nsrun -N 1 x",
    ],
)
def test_steps_are_found_wherever_they_stand(line: str) -> None:
    (step,) = script(line).steps
    assert [(option.name, option.value) for option in step.options] == [("nodes", "1")]
    assert step.command[0].text == "x"


@pytest.mark.parametrize(
    "line",
    [
        "# srun x",
        "echo srun x",
        "echo 'srun x; srun y'",
        "x=$(srun hostname)",
        "cat > inner.sh <<EOF\nsrun x\nEOF",
    ],
)
def test_what_is_no_step_of_the_script(line: str) -> None:
    assert script(line).steps == ()


def test_a_variable_counts_as_the_options_that_it_ever_holds() -> None:
    read = script('A=""', 'A="--auto-resume=1"', "B=(-N 2\n --label)", 'srun $A "${B[@]}" x')
    (step,) = read.steps
    assert [option.name for option in step.options] == ["auto-resume", "nodes", "label"]
    assert step.is_certain


@pytest.mark.parametrize(("line", "is_certain"), [("srun $A x", False), ("A=/a\nsrun $A", True)])
def test_a_variable_that_nobody_knows_may_hold_options(line: str, is_certain: bool) -> None:
    (step,) = script(line).steps
    assert step.is_certain == is_certain


def test_a_variable_that_holds_itself_ends() -> None:
    (step,) = script('A="--label $A"', "srun $A x").steps
    assert [option.name for option in step.options] == ["label"]


def test_assignments() -> None:
    read = script("A=1 B='x y' run C=2", "export D=3 E", "declare -a F=(1 2)", "env G=4 run H=5")
    assert [(each.name, each.value) for each in read.assignments] == [
        ("A", "1"),
        ("B", "x y"),
        ("D", "3"),
        ("F", "(1 2)"),
        ("G", "4"),
    ]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("#SBATCH --export=ALL,A=1,B=x", [("A", "1"), ("B", "x")]),
        ("#SBATCH --export=NIL", []),
        ("srun --export ALL,A=1,C -l x D=2", [("A", "1")]),
        ("srun --export=A=1 --export=A=2 x", [("A", "2")]),
        ("""srun --export="A='x,B=1',C=a=b" x""", [("A", "x,B=1"), ("C", "a=b")]),
        ("srun --export='A=\"' x", [("A", "")]),
        ('OPTIONS="--export=ALL,A=1"; srun $OPTIONS x', [("A", "1")]),
    ],
)
def test_variables_that_sbatch_and_srun_hand_on(line: str, wanted: list[tuple[str, str]]) -> None:
    found = [(each.name, each.value) for each in script(line).assignments]
    assert [each for each in found if each[0] != "OPTIONS"] == wanted


def test_single_quotes_keep_variables_for_later() -> None:
    (command,) = script("""srun bash -c '$A' "$B \\$C" $D""").commands
    assert [word.expanded.strip() for word in command[3:]] == ["", '"$B   C"', "$D"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        *(("90", 90), ("90:30", 90.5), ("1:30:00", 90), ("1-0", 1440), ("1-2:3", 1563)),
        *(("0", None), ("UNLIMITED", None), ("soon", None), ("9" * 50, None)),
    ],
)
def test_durations(text: str, wanted: float | None) -> None:
    assert minutes(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        *(("29500", 29500), ("$((RANDOM + 62000))", 94767), ("$(( 20000+$RANDOM%1000 ))", 20999)),
        *(("$((RANDOM % 0 + 1))", 32768), ("$((A + 1))", None), ("$((1 - RANDOM))", None)),
        *(("", None), ("$(port)", None), ("9" * 50, None)),
    ],
)
def test_highest_number(text: str, wanted: int | None) -> None:
    assert highest(text) == wanted
