"""Trainings among the steps of a job, known by names of programs, or as Python programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.jobs.calls import SHELLS, Call, calls
from slurmpod.jobs.script import Step

LAUNCHER = "torch_?run|deepspeed|accelerate"
TRAINING = re.compile(rf"{LAUNCHER}|train(?!ium)|finetune", re.IGNORECASE)
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


def is_training(step: Step) -> bool:
    """Tell whether a step looks like training: the names of data and of images do not count."""
    return any(_trains(each) for call in step.runs for each in (call, *_in_shell(call)))


def _trains(call: Call) -> bool:
    if call.name in FILE_TOOLS:
        return False
    arguments = [word.text for word in call.arguments]
    whole = " ".join((call.program.text, *arguments))
    if TRAINING.search(call.name) or SUBCOMMANDS & set(arguments[:1]) or PYTHON.search(whole):
        return True
    return PREPARING.isdisjoint(arguments) and any(map(PROGRAM.fullmatch, arguments))


def _in_shell(call: Call) -> Iterator[Call]:
    """Yield what a shell among the arguments runs, such as that in a container."""
    words = call.arguments
    shell = next((index for index, word in enumerate(words) if word.text in SHELLS), len(words))
    yield from calls(words[shell:], {})
