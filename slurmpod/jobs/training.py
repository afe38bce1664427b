"""Whether a step or a job runs training, or something that need not be restarted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from slurmpod.jobs.calls import SHELLS, Call, Values, calls, expanded
from slurmpod.jobs.script import Script, Step, read_script

LAUNCHER = "torch_?run|deepspeed|accelerate"
NAMED_TRAINING = re.compile("train(?!ium)|finetune", re.IGNORECASE)
TRAINING = re.compile(rf"{LAUNCHER}|{NAMED_TRAINING.pattern}", re.IGNORECASE)
PROGRAM = re.compile(
    rf"(?:/\S*/)?(?:{LAUNCHER}) | (?:\S*/)?[^\s/]*(?:train(?!ium)|finetune)[^\s/]*\.(?:py|sh)",
    re.VERBOSE | re.IGNORECASE,
)
"""A program among the arguments of another one, such as that of a container."""

PYTHON = re.compile(
    r"""
    ^ \S+\.py (?=\s|$)
    | (?: ^ | [\s/;&|(] ) (?: python[0-9.]*+\)? | \$\{?(?=\w*python)\w++\}? )
      (?: \s+-[WX]\s+[^\s-]\S* | \s+-[^\scm-]\S* ){0,9}
      \s+ (?: -m\s+(?!(?:pip|venv)\b)\S | (?!-)\S+\.py\b | ["']?\$ )
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A Python program, by its file or its module: neither a few words with -c, nor an installation."""

PYTHON_PROGRAM = re.compile(
    r"""
    (?:^|\s)-m\s+(?!torch\.distributed|accelerate\b)(\S+)
    | (?:^|[\s/])([^\s/]+)\.py(?=[\s'"]|$)
    """,
    re.VERBOSE,
)
"""The module or the file that Python, or a launcher, is given."""

PROBE = re.compile(
    r"""
    (?:^|[._-])
    (?: tests? | bench(?:es|mark\w*)? | perf | latency | bandwidth | screen(?:ing)? | check(?:s|er)?
      | diagnos\w* | validat\w+ | eval(?:s|uat\w*)? | infer\w* | generate | serv(?:e|er|ing)
      | conver[ts]\w* | consolidat\w* | merge\w* | preprocess\w* | process | prepare
      | tokeniz\w* | download\w* | setup | compute )
    (?=[._-]|$)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words in the names of programs that test, measure, evaluate or prepare."""

PROFILED = re.compile(r"(?:^|[\s/])(?:nsys|ncu)\b")
"""Profilers: what they run is measured for some steps, and begun again if it fails."""

MEASURED = re.compile(
    r"(?:^|[\W_])(?:tests?|bench(?:mark\w*)?|perf|profil\w*|latency|bandwidth)(?=[\W_]|$)",
    re.IGNORECASE,
)
"""Words in the name of a job that runs a training to measure it, or to try something."""

SUBCOMMANDS = frozenset({"train", "pretrain", "finetune"})
PREPARING = frozenset({"build", "create", "download", "import", "install", "load", "pull", "push"})
"""Words with which a tool for containers or packages runs none of what it is given."""

ON_FILES = """
    aws cat chgrp chmod chown cp curl dd df dos2unix du echo find git grep gunzip gzip head hf
    huggingface-cli lfs ln ls md5sum mkdir mv pigz printf rclone readlink rm rsync s5cmd scp sed
    sha256sum stat tail tar tee test touch tree unzip wc wget which zip zstd [ [[
"""
FILE_TOOLS = frozenset(ON_FILES.split())
"""Programs that do something with files, and run none of them."""

BESIDE = re.compile(r"(?:\./|\$\{?\w+\}?/)?([\w.-]+\.(?:sh|bash))", re.ASCII)
"""A script in the folder that a job is submitted in, which is mostly that of the batch script."""


Judge = Callable[[Call, Values], bool]


def trains(call: Call, values: Values) -> bool:
    """Return whether one program looks like training, with what the script sets variables to."""
    if call.name in FILE_TOOLS:
        return False
    arguments = [word.text for word in call.arguments]
    whole = expanded(" ".join((call.program.text, *arguments)), values)
    if PROFILED.search(whole) or _is_probe(whole):
        return False
    if TRAINING.search(call.name) or SUBCOMMANDS & set(arguments[:1]) or PYTHON.search(whole):
        return True
    return PREPARING.isdisjoint(arguments) and any(map(PROGRAM.fullmatch, arguments))


def is_measured(script: Script) -> bool:
    """Return whether the job's name says that it measures or tries something."""
    name = script.option("job-name")
    return bool(name and MEASURED.search(name.value))


def is_training(step: Step, script: Script, judge: Judge = trains) -> bool:
    """Return whether a step looks like training: the names of data and of images do not count.

    A script beside the batch script is read, too.
    """
    called = [each for call in step.runs for each in (call, *_in_shell(call, script.values))]
    return any(judge(each, script.values) or _trains_beside(each, script, judge) for each in called)


def is_named_training(call: Call, values: Values) -> bool:
    """Return whether the name of a program, or of its launcher, says that it trains."""
    if not trains(call, values):
        return False
    words = expanded(" ".join(word.text for word in call.arguments), values).split()
    return bool(TRAINING.search(call.name)) or any(map(PROGRAM.fullmatch, words))


def _is_probe(whole: str) -> bool:
    match = PYTHON_PROGRAM.search(whole)
    name = (match[1] or match[2]).rpartition("/")[2] if match else ""
    return bool(PROBE.search(name)) and not NAMED_TRAINING.search(name)


def _trains_beside(call: Call, script: Script, judge: Judge) -> bool:
    match = BESIDE.fullmatch(call.program.text)
    text = script.beside(match[1]) if match else None
    if text is None:
        return False
    other = read_script(script.file, text)
    return any(judge(each, other.values) for each in other.called)


def _in_shell(call: Call, values: Values) -> Iterator[Call]:
    """Yield what a shell among the arguments runs, such as that in a container."""
    words = call.arguments
    shell = next((index for index, word in enumerate(words) if word.text in SHELLS), len(words))
    yield from calls(words[shell:], values)
