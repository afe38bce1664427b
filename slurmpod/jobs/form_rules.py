"""Rules for requirements of sbatch, and for output files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.jobs.calls import holds_options, values_of
from slurmpod.jobs.registry import ScriptFinding, Topic
from slurmpod.jobs.script import Script
from slurmpod.jobs.shell import Place
from slurmpod.jobs.training import is_measured, is_named_training, is_training
from slurmpod.problems import Severity

FORM = Topic("JOB", "Requirements of sbatch")

SBATCH = "https://slurm.schedmd.com/sbatch.html"
SBATCH_SOURCE = "https://github.com/SchedMD/slurm/blob/master/src/sbatch/sbatch.c"
COMMENTED = re.compile(r"#[ \t]+SBATCH[ \t]+-")
NOT_EXPANDED = re.compile(r"^~|\$")
NAMES_ONE_JOB = re.compile(r"%[0-9]*[jJA]", re.ASCII)
HOURS = re.compile(r"[1-9]|[1-6][0-9]|7[0-2]", re.ASCII)
"""Numbers that people write for hours: up to three days."""

NAMES_ONE_TASK = re.compile(r"%[0-9]*[jJa]", re.ASCII)

FORM.reported_elsewhere(
    "JOB-001",
    "The script can be read",
    why="A script that cannot be read cannot be checked.",
    fix="give the path of a batch script",
    source="slurmpod/reading/text_file.py",
)


FORM.reported_elsewhere(
    "JOB-025",
    "bash can read the script",
    why="bash runs a script line by line, and ends at the first line that it cannot read: after "
    "hours, if that line follows a training.",
    fix="correct it; bash -n FILE reads a script and runs nothing",
    source="https://www.gnu.org/software/bash/manual/bash.html#The-Set-Builtin",
)


@FORM.rule(
    "JOB-002",
    "The first line says what runs the script",
    why="sbatch refuses a script whose first line does not begin with #!.",
    fix="begin the script with #!/bin/bash",
    source=SBATCH_SOURCE,
)
def _begins_with_interpreter(script: Script) -> Iterator[ScriptFinding]:
    if not script.text.startswith("#!"):
        yield ScriptFinding(Place(script.line, 1), "the script does not begin with #!")


@FORM.rule(
    "JOB-003",
    "Lines end as Linux has them",
    why="sbatch refuses a script with Windows line ends.",
    fix="save it with LF line ends, e.g. with dos2unix",
    source=SBATCH_SOURCE,
)
def _linux_line_ends(script: Script) -> Iterator[ScriptFinding]:
    before, found, _ = script.text.partition("\r\n")
    if found:
        yield ScriptFinding(
            Place(before.count("\n") + script.line, 1), "the line ends as in Windows"
        )


@FORM.rule(
    "JOB-004",
    "Directives are before the first command",
    why="sbatch stops at the first line that is neither blank nor a comment. Later directives are "
    "comments: the job runs without the option, and without a message.",
    fix="move it above the first command",
    source=SBATCH,
)
def _directives_come_first(script: Script) -> Iterator[ScriptFinding]:
    for place in script.late_directives:
        yield ScriptFinding(place, "sbatch does not read this directive: a command stands above it")


@FORM.rule(
    "JOB-005",
    "Each job has its own output file",
    why="sbatch empties the output file when a job starts. With one name for all jobs, the next "
    "job deletes the output of the last one, and two jobs that run at once overwrite each other's.",
    fix="put %j into the name, e.g. --output=%x_%j.out (for arrays %A_%a)",
    source=f"{SBATCH}#SECTION_FILENAME-PATTERN",
    severity=Severity.WARNING,
)
def _output_of_its_own(script: Script) -> Iterator[ScriptFinding]:
    if script.appends:
        return
    wanted = NAMES_ONE_TASK if script.option("array") else NAMES_ONE_JOB
    for name in ("output", "error"):
        option = script.option(name)
        if option and option.value != "/dev/null" and not wanted.search(option.value):
            message = f"every job of this script writes to the same file '{option.value}'"
            yield ScriptFinding(option.place, message)


@FORM.rule(
    "JOB-006",
    "squeue is given jobs with --jobs",
    why="squeue does not take a job id as an argument, and ends with an error.",
    fix="write squeue --jobs=ID",
    source="https://slurm.schedmd.com/squeue.html",
    severity=Severity.WARNING,
)
def _squeue_with_option(script: Script) -> Iterator[ScriptFinding]:
    for first in (words[0] for words in script.calls("squeue") if words):
        if not holds_options(values_of(first, script.values) or (first.text,)):
            yield ScriptFinding(first.place, f"squeue does not understand '{first.text}'")


@FORM.rule(
    "JOB-018",
    "Directives begin with #SBATCH",
    why="A line that begins with `# SBATCH` is a comment like any other: the job runs without the "
    "option, and without a message.",
    fix="write #SBATCH without a blank, or ##SBATCH for an option that you do not want",
    source=SBATCH,
    severity=Severity.WARNING,
)
def _no_blank_in_directives(script: Script) -> Iterator[ScriptFinding]:
    lines = script.text.split("\n")
    for place in script.parsed.comments:
        line = lines[place.line - script.line]
        if place.column == 1 and COMMENTED.match(line):
            yield ScriptFinding(place, f"'{line.split('=')[0].strip()}' is a comment for sbatch")


@FORM.rule(
    "JOB-019",
    "Names of files have no ~ and no variables",
    why="sbatch expands neither ~ nor variables in its options. It makes a folder with this name "
    "in the working directory.",
    fix="write the whole path, with %u for the user and %j for the job",
    source=f"{SBATCH}#SECTION_FILENAME-PATTERN",
    severity=Severity.WARNING,
)
def _files_are_written_out(script: Script) -> Iterator[ScriptFinding]:
    for name in ("output", "error", "input"):
        option = script.option(name)
        if option and NOT_EXPANDED.search(option.value):
            yield ScriptFinding(option.place, f"sbatch uses '{option.value}' literally")


@FORM.rule(
    "JOB-023",
    "A training has hours",
    why="A number alone is minutes. If hours were meant, the job ends too early.",
    fix="write 24:00:00 for hours, or 00:24:00 for minutes",
    source=f"{SBATCH}#OPT_time",
    severity=Severity.NOTE,
)
def _time_in_hours(script: Script) -> Iterator[ScriptFinding]:
    time = script.option("time")
    if not time or not HOURS.fullmatch(time.value) or script.resuming_steps or is_measured(script):
        return
    if any(is_training(step, script, is_named_training) for step in script.steps):
        yield ScriptFinding(time.place, f"--time={time.value} is {time.value} minutes")


@FORM.rule(
    "JOB-024",
    "Slurm chooses the nodes",
    why="Names of nodes come from their addresses. A node that is replaced, deleted or created "
    "elsewhere gets another name, and sbatch refuses a job for a node that does not exist.",
    fix="remove --nodelist; a partition chooses the kind of nodes, and --exclude avoids one",
    source=f"{SBATCH}#OPT_nodelist",
    severity=Severity.WARNING,
)
def _nodes_are_not_named(script: Script) -> Iterator[ScriptFinding]:
    for name in ("nodelist", "nodefile"):
        if option := script.option(name):
            yield ScriptFinding(option.place, f"the job waits for {option.value} alone")
