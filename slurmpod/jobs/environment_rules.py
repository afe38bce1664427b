"""Rules for variables: the rendezvous of processes, and settings of NCCL and EFA."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.jobs.calls import program_name
from slurmpod.jobs.registry import ScriptFinding, Topic
from slurmpod.jobs.resume_rules import AUTO_RESUME
from slurmpod.jobs.script import Script
from slurmpod.jobs.shell import Word
from slurmpod.problems import Severity
from slurmpod.reading.secrets_in_text import TOKEN

MEETING = Topic("JOB", "Rendezvous of processes")
VARIABLES = Topic("JOB", "Variables and arguments")

EFA_VARIABLES = "https://github.com/aws/aws-ofi-nccl/blob/master/doc/efa-env-var.md"
NODE_LIST = re.compile(r"\$\{?SLURM_(JOB_)?NODELIST\b")
HOST = r"\b(?:hostname|gethostname|getfqdn|uname\s+-n)\b"
THIS_HOST = (
    rf"(?:\$\((?:[^()]*\(){{0,3}}[^()]*{HOST}|`[^`]*{HOST}|\$\{{?(?:HOSTNAME|SLURMD_NODENAME)\b)"
)
FIXED_HOST = re.compile(
    r"(?<![a-z0-9])(?:(?:rdzv|rendezvous|master|head|leader|main[_-]process|endpoint)"
    r"(?:[_-]?(?:node|host|name|address|addr|ipaddr|ip|endpoint))*+"
    r"|ray\s+start\s[^;&|\n]{0,200}?--address)"
    rf"(?:\s*=\s*|\s+)\"?\\?{THIS_HOST}",
    re.IGNORECASE,
)
PORT = re.compile(r"(?:^|_|MASTER|RDZV)PORT$", re.IGNORECASE)
OLD_SEED = re.compile("tensor_parallel_seed")
PRINTING = frozenset({"echo", "printf"})
SECRET_NAME = re.compile(r"(?:API_?KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
LONG_VALUE = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9+_=-][A-Za-z0-9+/_=.-]{15,}", re.ASCII)
HIGHEST_PORT = 65535
LOWEST_PORT = 1024
"""ip(7), ip_unprivileged_port_start."""


@MEETING.rule(
    "JOB-020",
    "The list of nodes is read inside the step",
    why="When HyperPod replaces a node, only the step is restarted. Values that the batch script "
    "computed from $SLURM_JOB_NODELIST before that name the old nodes.",
    fix="ask scontrol for the job's nodes in the script that srun starts",
    source=AUTO_RESUME,
    severity=Severity.WARNING,
)
def _fresh_node_list(script: Script) -> Iterator[ScriptFinding]:
    for word, _ in _words_of_resuming(script):
        if match := NODE_LIST.search(word.expanded):
            message = f"{match.group().replace('{', '')} is read once, outside the step"
            yield ScriptFinding(word.place_of(match.start()), message)


@MEETING.rule(
    "JOB-021",
    "The rendezvous host is chosen inside the step",
    why="The batch script sets the host once. When HyperPod has replaced that node, the restarted "
    "processes wait for a host that is gone.",
    fix="choose the first of the job's nodes in the script that srun starts",
    source=AUTO_RESUME,
    severity=Severity.WARNING,
)
def _fresh_meeting_place(script: Script) -> Iterator[ScriptFinding]:
    for word, value in _words_of_resuming(script):
        match = FIXED_HOST.search(f"{word.expanded} {value.expanded if value else ''}")
        if match and match.start() < len(word.raw):
            message = "processes meet at the host of the batch script"
            yield ScriptFinding(word.place_of(match.start()), message)


@MEETING.rule(
    "JOB-022",
    "Ports exist",
    why=f"The highest port is {HIGHEST_PORT}, only root may listen at those below {LOWEST_PORT}, "
    "and $RANDOM is 0 to 32767. If a sum can exceed the highest port, the job fails, sometimes or "
    "most of the time.",
    fix="write e.g. $((29500 + RANDOM % 1000))",
    source="https://www.gnu.org/software/bash/manual/bash.html#index-RANDOM",
)
def _ports_exist(script: Script) -> Iterator[ScriptFinding]:
    for assignment in script.assignments:
        if not PORT.search(assignment.name):
            continue
        least, most = port_range(assignment.value) or (LOWEST_PORT, LOWEST_PORT)
        if most > HIGHEST_PORT:
            message = f"{assignment.name} can be {most}, and the highest port is {HIGHEST_PORT}"
            yield ScriptFinding(assignment.place, message)
        elif least < LOWEST_PORT and least < most:
            message = f"{assignment.name} can be {least}, and ports below {LOWEST_PORT} are root's"
            yield ScriptFinding(assignment.place, message)


@VARIABLES.rule(
    "JOB-030",
    "RDMAV_FORK_SAFE is not set",
    why="AWS's NCCL plugin advises against it: it causes failures on newer kernels. libfabric does "
    "its work.",
    fix="remove it",
    source=EFA_VARIABLES,
    severity=Severity.WARNING,
)
def _no_fork_safe(script: Script) -> Iterator[ScriptFinding]:
    yield from _settings(script, "RDMAV_FORK_SAFE", ("1",), "RDMAV_FORK_SAFE can break EFA")


@VARIABLES.rule(
    "JOB-031",
    "NCCL chooses its protocol",
    why="NCCL_PROTO=simple was needed up to version 1.5 of AWS's NCCL plugin. Today's images have "
    "a newer one; there it keeps NCCL from faster protocols.",
    fix="remove it",
    source=EFA_VARIABLES,
    severity=Severity.WARNING,
)
def _no_protocol(script: Script) -> Iterator[ScriptFinding]:
    message = "NCCL may use no other protocol than 'simple'"
    yield from _settings(script, "NCCL_PROTO", ("simple",), message)


@VARIABLES.rule(
    "JOB-032",
    "SMP gets random_seed",
    why="Version 2 of the SageMaker model parallelism library has random_seed in place of "
    "tensor_parallel_seed.",
    fix="write random_seed",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/distributed-model-parallel-v2-reference.html",
    severity=Severity.WARNING,
)
def _random_seed(script: Script) -> Iterator[ScriptFinding]:
    for place in script.places(OLD_SEED):
        yield ScriptFinding(place, "SMP v2 has no tensor_parallel_seed")


@VARIABLES.rule(
    "JOB-033",
    "Scripts have no secrets",
    why="Slurm keeps the script of a job, and shows it (`scontrol write batch_script`). Anyone who "
    "can read the script, or its folder, has the key.",
    fix="read it from a file that only you can read, or from Secrets Manager",
    source="https://slurm.schedmd.com/scontrol.html#OPT_write-batch_script",
    severity=Severity.WARNING,
)
def _no_secrets(script: Script) -> Iterator[ScriptFinding]:
    for each in script.assignments:
        if is_secret(each.name, each.value):
            yield ScriptFinding(each.place, f"{each.name} is set to a secret")


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable holds a secret, by its name and by how its value looks."""
    is_key = SECRET_NAME.search(name) and LONG_VALUE.fullmatch(value)
    return bool(is_key or TOKEN.fullmatch(value))


def _words_of_resuming(script: Script) -> Iterator[tuple[Word, Word | None]]:
    """Yield every word that the batch script itself may expand, if a step of it is restarted.

    None in a job of one node: when that is replaced, the batch script begins again, too.
    Beside an option without `=` stands the word behind it, which may be its value.
    """
    if script.is_on_one_node or not script.resuming_steps:
        return
    for command in (*script.commands, *script.handed_on):
        if program_name(command) in PRINTING:
            continue
        for word, following in zip(command, (*command[1:], None), strict=True):
            takes_value = word.raw.startswith("--") and "=" not in word.raw
            yield word, following if takes_value else None


def _settings(
    script: Script, name: str, values: tuple[str, ...], message: str
) -> Iterator[ScriptFinding]:
    for assignment in script.assignments:
        if assignment.name == name and assignment.value.lower() in values:
            yield ScriptFinding(assignment.place, message)


HIGHEST_RANDOM = 32767
"""bash(1): RANDOM is between 0 and 32767."""

TERM = r"\s*(?:\$?\{?(RANDOM)\}?|([0-9]{1,9}))\s*(?:%\s*([0-9]{1,9})\s*)?"
SUM = re.compile(rf"\$\(\(({TERM}(?:\+{TERM})*)\)\)", re.ASCII)
ONE_TERM = re.compile(TERM, re.ASCII)
NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


def port_range(value: str) -> tuple[int, int] | None:
    """Return the least and the most of a number, or a sum such as `$((RANDOM % 1000 + 29500))`.

    None for everything else: other variables, parentheses, other operators.
    """
    if NUMBER.fullmatch(value):
        return int(value), int(value)
    if value in ("$RANDOM", "${RANDOM}"):
        return 0, HIGHEST_RANDOM
    match = SUM.fullmatch(value)
    if not match:
        return None
    terms = [term.groups() for term in map(ONE_TERM.fullmatch, match[1].split("+")) if term]
    return sum(_least(*term) for term in terms), sum(_most(*term) for term in terms)


def _least(random: str | None, number: str | None, modulus: str | None) -> int:
    return 0 if random else _most(random, number, modulus)


def _most(random: str | None, number: str | None, modulus: str | None) -> int:
    most = HIGHEST_RANDOM if random else int(number or 0)
    if not modulus or not int(modulus):
        return most
    return min(most, int(modulus) - 1) if random else most % int(modulus)
