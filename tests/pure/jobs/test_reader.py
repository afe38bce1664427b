"""What the reader makes of scripts: the same as sbatch and bash, without running anything."""

from __future__ import annotations

import pytest

from slurmpod.jobs.environment_rules import port_range
from slurmpod.jobs.options import known_options, minutes, refusal
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


def test_words_of_a_long_list_are_no_commands() -> None:
    words = [f'data_{number},"read (all) of it",train' for number in range(600)]
    read = script("A=(", *words, ")", "srun train.py")
    assert [call.name for call in read.called] == ["srun"]
    assert [step.command[0].place.line for step in read.steps] == [604]


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
        "(( y = 1 << 4 ))\nsrun -N 1 x\n4",
        'y=$(( ((1 << 4)) ))\nlet "y = 1 << 4"\nsrun -N 1 x\n4',
        "let y=1<<4\nsrun -N 1 x",
        "((cd /fsx; srun -N 1 x); (true))",
    ],
)
def test_steps_are_found_wherever_they_stand(line: str) -> None:
    (step,) = script(line).steps
    assert [(option.name, option.value) for option in step.options] == [("nodes", "1")]
    assert step.command[0].text == "x"


@pytest.mark.parametrize(
    "line",
    [
        "timeout 24h srun -N 1 x",
        "timeout -s INT --kill-after 5m --preserve-status 24h /usr/bin/srun -N 1 x",
        "A=b env -u C NCCL_DEBUG=INFO srun -N 1 x",
        "env 'A=b' srun -N 1 x",
        "numactl -N0 --membind 0 srun -N 1 x",
        "if ! nice -n 5 ionice -c2 srun -N 1 x; then exit 1; fi",
        "stdbuf -oL -e L nohup srun -N 1 x &",
        "time -p srun -N 1 x",
        "exec -a job srun -N 1 x",
        "taskset -c 0-3 srun -N 1 x",
        "bash -euo pipefail -c 'cd /fsx && srun -N 1 x'",
        "eval 'srun -N 1' x",
        'SRUN="srun -N 1"; $SRUN x',
        'LAUNCH=(timeout 1h srun -N 1)\n"${LAUNCH[@]}" x',
        'LIMIT=""; $LIMIT srun -N 1 x',
    ],
)
def test_steps_are_found_behind_what_runs_them(line: str) -> None:
    (step,) = script(line).steps
    assert [(option.name, option.value) for option in step.options] == [("nodes", "1")]
    assert step.command[0].text == "x"
    assert step.is_certain


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("$((1+(2+(3+(4+(5+(6+(7+8))))))))", "$((1+(2+(3+(4+(5+(6+(7+8))))))))"),
        ('"${A:-"b c"}"', '${A:-"b c"}'),
        ('"a b"\'c d\'\\ e"$F"', "a bc d e$F"),
        ("$(cat \"a b\" | tr x ' ')", "$(cat \"a b\" | tr x ' ')"),
    ],
)
def test_a_word_is_one_however_deep_it_is_nested(word: str, text: str) -> None:
    (first, *_) = script(f"srun -J {word} x").commands
    assert first[2].text == text


@pytest.mark.parametrize(
    "broken",
    [
        "echo 'a",
        'echo "$(b',
        "if true; then",
        "fi done )",
        "echo ${",
        "case x in",
        "f() {",
        "cat <<E",
    ],
)
def test_a_broken_script_is_read_up_to_where_it_breaks(broken: str) -> None:
    (step,) = script("#SBATCH -N 2", "srun -N 1 x", broken).steps
    assert [(option.name, option.value) for option in step.options] == [("nodes", "1")]


@pytest.mark.parametrize(
    "line",
    ["[[ $A == srun && x ]]", "srun() { x; }", "case $A in srun) x;; esac", "(( srun / 2 ))"],
)
def test_a_word_that_is_run_nowhere_is_no_step(line: str) -> None:
    assert script(line).steps == ()


def test_what_a_command_prints_is_no_program() -> None:
    (step,) = script("A=$(cat <<'E'", "cp x /fsx/train", "E", ")", 'srun bash -c "$A"').steps
    assert [call.name for call in step.runs] == ["$A"]


def test_a_variable_that_is_srun_at_times_may_be_another_program() -> None:
    (step,) = script('RUN="srun -l"', "RUN=bash", "$RUN ./x").steps
    assert [option.name for option in step.options] == ["label"]
    assert not step.is_certain


@pytest.mark.parametrize(
    "line",
    [
        "# srun x",
        "timeout 5 echo srun x",
        "command -v srun",
        'SRUN="srun"; echo $SRUN x',
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


def test_options_on_several_lines_of_a_string() -> None:
    read = script('A=" \\', "  --label \\", "  -N 2 \\", '"', "srun $A x")
    (step,) = read.steps
    assert [(option.name, option.value) for option in step.options] == [
        ("label", ""),
        ("nodes", "2"),
    ]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('"a\\\nb"', "ab"),
        ("a\\\nb", "ab"),
        ("'a\\\nb'", "a\\\nb"),
        ("\"'a\\\nb'\"", "'ab'"),
        ('"a\\\\\nb"', "a\\\nb"),
    ],
)
def test_lines_go_on_behind_a_backslash_but_not_in_single_quotes(line: str, text: str) -> None:
    (command,) = script(f"x {line}").commands
    assert command[1].text == text


@pytest.mark.parametrize(
    ("line", "is_certain"),
    [
        ("srun $A x", False),
        ("A=/a\nsrun $A", True),
        ("A=$([ -d /opt ] && echo --label)\nsrun $A x", False),
        ("A=`options`\nsrun $A x", False),
        ("srun $(options) x", False),
        ("srun $(pwd)/x", True),
        ("A=$(which python3)\nsrun $A x", True),
    ],
)
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
    "word", ["A=$(python -c 'print($B)')", "A=$(cat <<E\n$B\nE\n)", '"$(cat <<E\n$B\nE\n)"']
)
def test_substitutions_are_run_whatever_quotes_are_in_them(word: str) -> None:
    (command,) = script(f"x {word}").commands
    assert "$B" in command[1].expanded


@pytest.mark.parametrize("word", ["A=$(cat <<'E'\n$B\nE\n)", '"$(cat <<\\E\n$B\nE\n)"'])
def test_here_documents_in_substitutions_may_be_quoted(word: str) -> None:
    (command,) = script(f"x {word}").commands
    assert "$B" not in command[1].expanded


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
def test_ranges_of_ports(text: str, wanted: int | None) -> None:
    found = port_range(text)
    assert (found[1] if found else None) == wanted


SOUND_VALUES = {
    "time": "24 1-0 1- 1-00 1:2:3 99:99 0 -1 UNLIMITED infinite",
    "mem": "0 64G 64g 64GB 10T 5000000000",
    "nodes": "2 2-4 0 1k 2,4 -1 2-4:2",
    "array": "0-100 0-100%5 1,3 0- [1-3] 0-5%0 1-1000:500 ,1 1, 0-5%2,7 %2 , []",
    "dependency": "singleton 12 after:1+5 afterok:1:2,afternotok:3 afterok:1?after:2 afterok:1_*",
    "begin": "now now+5minutes now-1hour fika 10:00 16:00:00 2030-01-01T10:00:00 12/31/27 1999-1-1",
    "distribution": "block cyclic:block:fcyclic arbitrary arbitrary,pack plane=4 *:*,nopack",
    "signal": "USR1@60 B:USR1@60 R:TERM@10 SIGUSR1@60 usr1@60 10@ 35@60 HUP",
    "exclusive": "user mcs topo",
}
REFUSED_VALUES = {
    "time": "abc 24h 1d 1.5 :30 1: 1-2-3 1:2:3:4",
    "mem": "64Gi 64GiB 64X 1.5G -5 1P",
    "nodes": "abc 4-2 1.5 1:2 2-",
    "array": "a 5-2 0:2 -1 0-10:0 1,2,x",
    "dependency": "afterok afterok: afterok:x afterok:$PREV foo:12 singleton,afterok:x",
    "begin": "xx now+1h 25:00 4pm 2030-13-01 3030-1-1",
    "signal": "FOO x@60 TERM@abc USR1@70000 0 RTMIN@60",
    "distribution": "x arbitrary:block block:x plane",
    "exclusive": "x",
    "open-mode": "x",
    "ntasks": "0 -1 2x 1.5 4k =2",
}
"""What sbatch of Slurm 24.11.5 said to each."""


@pytest.mark.parametrize("name", SOUND_VALUES)
def test_values_that_sbatch_takes(name: str) -> None:
    assert [
        each for each in SOUND_VALUES[name].split() if refusal(known_options()[name], each)
    ] == []


@pytest.mark.parametrize("name", REFUSED_VALUES)
def test_values_that_sbatch_refuses(name: str) -> None:
    option = known_options()[name]
    assert [each for each in REFUSED_VALUES[name].split() if not refusal(option, each)] == []


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("#SBATCH --part=cpu --ntasks-per-n 2", [("partition", "cpu"), ("ntasks-per-node", "2")]),
        ("#SBATCH -W -N 2", [("wait", ""), ("nodes", "2")]),
        ("#SBATCH -n=2", [("ntasks", "=2")]),
    ],
)
def test_options_have_their_full_names(line: str, wanted: list[tuple[str, str]]) -> None:
    assert options(line) == wanted
