"""The commands for drills that docs/resume.md prints are understood as they stand there.

What they do is tried in tests/nodes/test_rehearse.py.
"""

from __future__ import annotations

import re
import shlex

from slurmpod.cli.main import parser_of
from tests.golden_files import ROOT

PAGE = (ROOT / "docs" / "resume.md").read_text(encoding="utf-8").replace("\\\n", " ")
DRILLS = PAGE.partition("## Drills\n")[2].partition("\n## ")[0]


def test_commands_for_drills_are_understood() -> None:
    commands = [shlex.split(each) for each in re.findall(r"^    slurmpod (.+)$", DRILLS, re.M)]
    assert [words[0] for words in commands] == ["job", "rehearse", "rehearsal"]
    for name, *words in commands:
        own = words[: words.index("--")] if "--" in words else words
        parser_of(name).parse_args(own)
