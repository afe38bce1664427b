"""Rules for single parameters of slurm.conf: whose they are, and how their values look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.slurm_parameters import Parameter, slurm_parameters
from slurmpod.model.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.rules.partitions import SLURM_CONF
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved

SETTINGS = Area("SET", "Parameters of slurm.conf")

PARAMETERS = "slurmpod/data/slurm_parameters.csv"
SURELY_MEANT = 0.88
"""How alike two names are (difflib) of which one is a slip: SlurmdTimout, SchedulerParameter."""

SLURM_CONFIGURATION = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-ref.html"
    "#sagemaker-hyperpod-ref-slurm-configuration"
)


@SETTINGS.rule(
    "SET-001",
    "Parameters of HyperPod are left to it",
    why="HyperPod's agents write them and rely on them; a second value breaks the cluster, or is "
    "gone with the next update.",
    fix="remove the parameter",
    source=SLURM_CONFIGURATION,
)
def _hyperpod_owns(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, parameter, _value in _known(environment):
        if parameter.owner == "hyperpod":
            yield Finding(path, f"{parameter.name} is HyperPod's: {parameter.why}", at_key=True)


@SETTINGS.rule(
    "SET-002",
    "Parameters of slurmpod's own steps are set where they belong",
    why="The lifecycle scripts write them from other keys of the environment.",
    fix="remove the parameter and use what the message names",
    source=PARAMETERS,
)
def _slurmpod_owns(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, parameter, _value in _known(environment):
        if parameter.owner == "slurmpod":
            yield Finding(path, f"{parameter.name} is not set here: {parameter.why}", at_key=True)


@SETTINGS.rule(
    "SET-003",
    "No parameter is out of date",
    why="Slurm 25.11 or 24.11 knows it no longer, and slurmctld does not start with what it does "
    "not know.",
    fix="remove the parameter, or use its successor",
    source=SLURM_CONF,
)
def _not_gone(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, parameter, _value in _known(environment):
        if parameter.owner == "gone":
            yield Finding(path, f"{parameter.name} is out of date: {parameter.why}", at_key=True)


@SETTINGS.rule(
    "SET-004",
    "Every parameter is spelled correctly",
    why="slurmctld does not start with a parameter that it does not know.",
    fix="correct the name",
    source=SLURM_CONF,
)
def _spelled_correctly(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, name in _unknown(environment):
        if near := _near(name):
            message = f"Slurm knows no parameter {name}"
            yield Finding(path, message, f"did you mean '{near}'?", at_key=True)


@SETTINGS.rule(
    "SET-005",
    "Every parameter is known",
    why="Neither Slurm 24.11 nor 25.11, the versions of HyperPod's image, knows the parameter. "
    "With an older Slurm than it needs, the controller fails to start.",
    fix="correct the name, or accept the warning where your image has a newer Slurm",
    source=PARAMETERS,
    severity=Severity.WARNING,
)
def _known_to_us(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, name in _unknown(environment):
        if not _near(name):
            message = f"neither Slurm 24.11 nor 25.11 knows {name}"
            hint = did_you_mean(name, [each.name for each in slurm_parameters().values()])
            yield Finding(path, message, hint, at_key=True)


@SETTINGS.rule(
    "SET-006",
    "Every value has the form that Slurm reads",
    why="With a value of another form slurmctld does not start, or silently keeps the default.",
    fix="write a value of the kind that the message names",
    source=SLURM_CONF,
)
def _form_is_right(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, parameter, value in _known(environment):
        if parameter.owner == "user" and (expected := parameter.expected(value)):
            yield Finding(path, f"{parameter.name} is {expected}, not '{value}'")


@SETTINGS.rule(
    "SET-007",
    "Every version of Slurm on the image knows the parameter",
    why="HyperPod's image has Slurm 24.11 and 25.11; which of them runs can be switched.",
    fix="make sure that /opt/slurm leads to the newer version, then accept the warning",
    source=SLURM_CONF,
    severity=Severity.WARNING,
)
def _not_too_new(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, parameter, _value in _known(environment):
        if parameter.owner == "user" and parameter.since:
            message = f"{parameter.name} came with Slurm {parameter.since}: 24.11 does not start"
            yield Finding(path, message, at_key=True)


@SETTINGS.rule(
    "SET-008",
    "Every parameter is given once",
    why="Slurm does not care about case, so that one of two values would silently win.",
    fix="remove one of them",
    source=SLURM_CONF,
)
def _given_once(environment: Environment, _: Resolved) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name in environment.slurm.settings:
        first = seen.setdefault(name.lower(), name)
        if first != name:
            yield Finding(_at(name), f"{name} is given as {first} already", at_key=True)


@SETTINGS.rule(
    "SET-009",
    "Programs that Slurm runs are on its nodes",
    why="slurmctld does not start without its own programs, and nodes whose Prolog is missing are "
    "drained. slurmpod does not put the file there.",
    fix="make sure that your image has the file, then accept the warning",
    source="https://slurm.schedmd.com/prolog_epilog.html",
    severity=Severity.WARNING,
)
def _programs_are_there(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, parameter, value in _known(environment):
        if parameter.kind == "program" and not value.startswith(("/bin/", "/usr/bin/")):
            yield Finding(path, f"nothing here puts {value} on the nodes")


def _at(name: str) -> YamlPath:
    return ("slurm", "settings", name)


def _known(environment: Environment) -> Iterator[tuple[YamlPath, Parameter, str]]:
    """Yield the place, the parameter and the value of every setting that Slurm knows."""
    for name, value in environment.slurm.settings.items():
        parameter = slurm_parameters().get(name.lower())
        if parameter:
            yield _at(name), parameter, value


def _unknown(environment: Environment) -> Iterator[tuple[YamlPath, str]]:
    for name in environment.slurm.settings:
        if name.lower() not in slurm_parameters():
            yield _at(name), name


def _near(name: str) -> str:
    """Return the parameter that was surely meant; a new one may well resemble another a little."""
    import difflib  # only needed on mistakes

    near = difflib.get_close_matches(name.lower(), slurm_parameters(), n=1, cutoff=SURELY_MEANT)
    return slurm_parameters()[near[0]].name if near else ""
