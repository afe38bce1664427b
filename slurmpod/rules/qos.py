"""Rules for qualities of service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.resolve.slurm import NORMAL
from slurmpod.rules.listed_once import listed_twice
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import QOS_GUIDE, SACCTMGR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved

QUALITIES = Area("QOS", "Qualities of service")

PREEMPTION = "https://slurm.schedmd.com/preempt.html"
MULTIFACTOR = "https://slurm.schedmd.com/priority_multifactor.html"


@QUALITIES.rule(
    "QOS-001",
    "Every QOS is listed once",
    why="The later entry would take back what the earlier one says.",
    fix="merge the two entries",
    source=SACCTMGR,
)
def _listed_once(environment: Environment, _: Resolved) -> Iterator[Finding]:
    return listed_twice(environment.slurm.qos, "slurm", "qos")


@QUALITIES.rule(
    "QOS-002",
    "Every QOS that is named is defined",
    why="Slurm refuses an unknown QOS, or ignores it silently in a list of a partition.",
    fix="define it under slurm.qos, or name one that is there; 'normal' always is",
    source=QOS_GUIDE,
)
def _named_is_defined(environment: Environment, _: Resolved) -> Iterator[Finding]:
    defined = {NORMAL, *(qos.name for qos in environment.slurm.qos)}
    for path, name in _named(environment):
        if name not in defined:
            yield Finding(path, f"there is no QOS '{name}'", did_you_mean(name, defined))


@QUALITIES.rule(
    "QOS-003",
    "No QOS preempts itself, directly or round a corner",
    why="Jobs would push each other out for ever; sacctmgr refuses it.",
    fix="remove one of the names under 'preempts'",
    source=PREEMPTION,
)
def _no_loops(environment: Environment, _: Resolved) -> Iterator[Finding]:
    preempts = {qos.name: qos.preempts for qos in environment.slurm.qos}
    for index, qos in enumerate(environment.slurm.qos):
        for number, name in enumerate(qos.preempts):
            if qos.name in _reached(name, preempts):
                way = "itself" if name == qos.name else f"'{name}', which preempts it in turn"
                path = ("slurm", "qos", index, "preempts", number)
                yield Finding(path, f"'{qos.name}' preempts {way}")


@QUALITIES.rule(
    "QOS-004",
    "A way of being preempted is given to what is preempted",
    why="preempt_mode says what happens to jobs of this QOS when others push them out. No other "
    "QOS does.",
    fix="name this QOS under 'preempts' of another one, or remove the key",
    source=PREEMPTION,
    severity=Severity.WARNING,
)
def _preempt_mode_has_a_use(environment: Environment, _: Resolved) -> Iterator[Finding]:
    preempted = {name for qos in environment.slurm.qos for name in qos.preempts}
    for index, qos in enumerate(environment.slurm.qos):
        if qos.preempt_mode and qos.name not in preempted:
            message = f"no QOS preempts '{qos.name}'"
            yield Finding(("slurm", "qos", index, "preempt_mode"), message, at_key=True)


@QUALITIES.rule(
    "QOS-005",
    "Priorities of QOS have a weight",
    why="The priority of a QOS counts only as much as fair_share.qos_weight lets it.",
    fix="add a section fair_share with a qos_weight above 0, or remove the priority",
    source=MULTIFACTOR,
    severity=Severity.WARNING,
)
def _priority_has_a_weight(environment: Environment, _: Resolved) -> Iterator[Finding]:
    share = environment.slurm.fair_share
    if share and share.qos_weight:
        return
    for index, qos in enumerate(environment.slurm.qos):
        if qos.priority:
            message = f"the priority of '{qos.name}' counts for nothing"
            yield Finding(("slurm", "qos", index, "priority"), message, at_key=True)


@QUALITIES.rule(
    "QOS-006",
    "Somebody can use every QOS",
    why="A job may only name a QOS that its account has. That of a partition is no exception: it "
    "is the partition's, not the job's.",
    fix="add it to 'qos' of an account, or remove it",
    source=QOS_GUIDE,
    severity=Severity.WARNING,
)
def _somebody_can_use_it(environment: Environment, _: Resolved) -> Iterator[Finding]:
    accounts = environment.slurm.accounts
    if not accounts:
        return
    used = {name for account in accounts for name in account.qos}
    used |= {partition.qos for partition in environment.slurm.partitions if partition.qos}
    for index, qos in enumerate(environment.slurm.qos):
        if qos.name not in {NORMAL, *used}:
            yield Finding(("slurm", "qos", index, "name"), f"no account has '{qos.name}'")


def _named(environment: Environment) -> Iterator[tuple[YamlPath, str]]:
    """Yield every place where a QOS is named."""
    slurm = environment.slurm
    for index, partition in enumerate(slurm.partitions):
        place: YamlPath = ("slurm", "partitions", index)
        if partition.qos:
            yield (*place, "qos"), partition.qos
        yield from _each((*place, "allowed_qos"), partition.allowed_qos)
    for index, qos in enumerate(slurm.qos):
        yield from _each(("slurm", "qos", index, "preempts"), qos.preempts)
    for index, account in enumerate(slurm.accounts):
        place = ("slurm", "accounts", index)
        yield from _each((*place, "qos"), account.qos)
        if account.default_qos:
            yield (*place, "default_qos"), account.default_qos


def _each(path: YamlPath, names: tuple[str, ...]) -> Iterator[tuple[YamlPath, str]]:
    for number, name in enumerate(names):
        yield (*path, number), name


def _reached(start: str, preempts: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return a QOS and all that it preempts, directly or through others."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += preempts.get(name, ())
    return found
