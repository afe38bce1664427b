"""Rules for parameters of slurm.conf that go together, or do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slurmpod.environment.slurm_combinations import COMBINATIONS, OF_HYPERPOD, PREEMPTION
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import enforces_limits
from slurmpod.rules.partitions import SLURM_CONF
from slurmpod.rules.registry import Area, Finding

TOGETHER = Area("TOG", "Parameters of slurm.conf together", reads=("slurm",))

STRATEGY = (
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
    "API_ClusterOrchestratorSlurmConfig.html"
)

DEFAULTS = {
    "messagetimeout": 10,
    "slurmdtimeout": 300,
    "maxarraysize": 1001,
    "maxjobcount": 10_000,
    "firstjobid": 1,
    "maxjobid": 67_043_328,
}
"""What Slurm takes where nothing is set (slurm.conf(5)), by lower-case name."""

EXCLUSIVE = (
    ("DefMemPerCPU", "DefMemPerNode", "DefMemPerGPU"),
    ("MaxMemPerCPU", "MaxMemPerNode"),
    ("PropagateResourceLimits", "PropagateResourceLimitsExcept"),
)
"""Of each line slurm.conf(5) allows one."""

REST_ON_ACCOUNTING = ("AccountingStorageEnforce", "AccountingStoreFlags")

KILL_TIMEOUT_PER_MESSAGE_TIMEOUT = 5

PINGS_PER_SLURMD_TIMEOUT = 3
"""How often slurmctld asks for a node before it gives it up (src/slurmctld/ping_nodes.c)."""


@TOGETHER.rule(
    "TOG-001",
    "SlurmdTimeout leaves nodes time to answer",
    why="With 0 a dead node is never DOWN and its jobs hang. Otherwise slurmctld asks for nodes "
    "three times in a SlurmdTimeout, and one that cannot be reached holds the others' answers up "
    "for a MessageTimeout: longer than a third, it can take healthy nodes and their jobs with it.",
    fix="write at least three times MessageTimeout; Slurm's defaults are 300 and 10",
    source=f"{SLURM_CONF}#OPT_SlurmdTimeout",
    severity=Severity.WARNING,
)
def _nodes_can_answer(resolved: Resolved) -> Iterator[Finding]:
    timeout, message = _number(resolved, "SlurmdTimeout"), _number(resolved, "MessageTimeout")
    path = _place(resolved, "SlurmdTimeout") or _place(resolved, "MessageTimeout")
    if path and timeout == 0:
        yield Finding(path, "Slurm would never notice that a node is dead")
        return
    least = PINGS_PER_SLURMD_TIMEOUT * (message or 0)
    if path and timeout is not None and timeout < least:
        said = (
            f"a SlurmdTimeout of {timeout} s is less than 3 times a MessageTimeout of {message} s"
        )
        yield Finding(path, said)


@TOGETHER.rule(
    "TOG-002",
    "UnkillableStepTimeout is five times MessageTimeout",
    why="Slurm drains nodes for no reason otherwise.",
    fix="raise UnkillableStepTimeout, or leave it to Slurm, which computes it",
    source=f"{SLURM_CONF}#OPT_UnkillableStepTimeout",
    severity=Severity.WARNING,
)
def _steps_can_be_killed(resolved: Resolved) -> Iterator[Finding]:
    kill, message = (
        _number(resolved, "UnkillableStepTimeout"),
        _number(resolved, "MessageTimeout"),
    )
    path = _place(resolved, "UnkillableStepTimeout")
    least = KILL_TIMEOUT_PER_MESSAGE_TIMEOUT * (message or 0)
    if path and kill is not None and kill < least:
        yield Finding(path, f"{kill} s are less than 5 times a MessageTimeout of {message} s")


@TOGETHER.rule(
    "TOG-003",
    "There can be more jobs than an array has tasks",
    why="Every task of a job array becomes a job: one array could take all places.",
    fix="raise MaxJobCount well above MaxArraySize",
    source=f"{SLURM_CONF}#OPT_MaxArraySize",
    severity=Severity.WARNING,
)
def _arrays_fit(resolved: Resolved) -> Iterator[Finding]:
    tasks, jobs = _number(resolved, "MaxArraySize"), _number(resolved, "MaxJobCount")
    path = _place(resolved, "MaxArraySize") or _place(resolved, "MaxJobCount")
    if path and tasks is not None and jobs is not None and tasks > jobs:
        yield Finding(path, f"an array can have {tasks - 1} tasks, and there are {jobs} jobs")


@TOGETHER.rule(
    "TOG-004",
    "The first job id is below the last",
    why="Slurm counts from FirstJobId to MaxJobId.",
    fix="lower FirstJobId, or raise MaxJobId",
    source=f"{SLURM_CONF}#OPT_MaxJobId",
)
def _job_ids_are_a_range(resolved: Resolved) -> Iterator[Finding]:
    first, last = _number(resolved, "FirstJobId"), _number(resolved, "MaxJobId")
    path = _place(resolved, "FirstJobId") or _place(resolved, "MaxJobId")
    if path and first is not None and last is not None and first >= last:
        yield Finding(path, f"ids would run from {first} to {last}")


@TOGETHER.rule(
    "TOG-005",
    "Parameters that exclude each other are not both set",
    why="They are several ways to say one thing: slurm.conf(5) allows one of them.",
    fix="remove all but one of them",
    source=SLURM_CONF,
)
def _one_of_several(resolved: Resolved) -> Iterator[Finding]:
    for names in EXCLUSIVE:
        places = [(name, place) for name in names if (place := _place(resolved, name))]
        for _name, place in places[1:]:
            message = f"{places[0][0]} is set too: only one of them counts"
            yield Finding(place, message, at_key=True)


@TOGETHER.rule(
    "TOG-006",
    "Settings of preemption fit the QOS",
    why="A QOS that preempts others needs PreemptType=preempt/qos and a PreemptMode that is not "
    "OFF.",
    fix="remove the parameter: it follows from 'preempts'",
    source="https://slurm.schedmd.com/preempt.html",
)
def _preemption_fits(resolved: Resolved) -> Iterator[Finding]:
    if not any(qos.preempts for qos in resolved.slurm.qos):
        return
    kind, mode = _value(resolved, "PreemptType"), _value(resolved, "PreemptMode")
    if kind and kind.lower() != "preempt/qos":
        yield Finding(_required(resolved, "PreemptType"), f"'{kind}' switches 'preempts' off")
    if mode and "off" in mode.lower().split(","):
        yield Finding(_required(resolved, "PreemptMode"), "OFF switches 'preempts' off")


@TOGETHER.rule(
    "TOG-007",
    "Parameters of accounting are set where there is accounting",
    why="Without slurmdbd Slurm ignores them.",
    fix="remove the parameter, or 'accounting: false'",
    source="https://slurm.schedmd.com/accounting.html",
)
def _accounting_is_there(resolved: Resolved) -> Iterator[Finding]:
    for name in () if resolved.slurm.accounting else REST_ON_ACCOUNTING:
        if path := _place(resolved, name):
            yield Finding(path, f"{name} needs accounting, which is off", at_key=True)


@TOGETHER.rule(
    "TOG-008",
    "Limits are enforced",
    why="slurmpod sets AccountingStorageEnforce where QOS, accounts or partitions have limits; "
    "a value of your own without limits disables them.",
    fix="remove the parameter, or write associations,limits,qos (or safe, or all)",
    source=f"{SLURM_CONF}#OPT_AccountingStorageEnforce",
    severity=Severity.WARNING,
    reads=("access", "slurm"),
)
def _limits_are_enforced(resolved: Resolved) -> Iterator[Finding]:
    value = _value(resolved, "AccountingStorageEnforce")
    if value is None or not enforces_limits(resolved):
        return
    words = set(value.lower().split(","))
    if "all" not in words and not ({"limits", "safe"} & words and "qos" in words):
        path = _required(resolved, "AccountingStorageEnforce")
        yield Finding(path, f"'{value}' leaves limits or QOS unenforced")


@TOGETHER.rule(
    "TOG-009",
    "HyperPod does not undo settings",
    why="With the strategy Overwrite HyperPod rewrites slurm.conf at every update of the cluster. "
    "The scripts put their line back at once; until then Slurm runs without it.",
    fix="write 'config_strategy: Merge'",
    source=STRATEGY,
    severity=Severity.WARNING,
    reads=("access", "slurm"),
)
def _not_overwritten(resolved: Resolved) -> Iterator[Finding]:
    slurm = resolved.slurm
    has_lines = slurm.settings or slurm.fair_share or slurm.partitions
    if slurm.config_strategy == "Overwrite" and (enforces_limits(resolved) or has_lines):
        yield Finding(("slurm", "config_strategy"), "every update interrupts your settings")


@TOGETHER.rule(
    "TOG-010",
    "Parameters have what they need beside them",
    why="slurmctld does not start, or ignores one of them, where one parameter lacks what it needs "
    "or meets what it excludes.",
    fix="do what the message says",
    source="slurmpod/environment/slurm_combinations.py",
)
def _accepted_together(resolved: Resolved) -> Iterator[Finding]:
    values = _values(resolved)
    is_said_already = any(_preemption_fits(resolved))
    for each in COMBINATIONS:
        path = _place(resolved, each.parameter) or _place(resolved, each.other)
        if path is None or (is_said_already and each.parameter in PREEMPTION):
            continue
        if each.is_broken_by(values):
            yield Finding(path, each.message(values), each.fix)


def _values(resolved: Resolved) -> Mapping[str, str]:
    """Return what holds, by the names of the table: the user's, slurmpod's and HyperPod's words."""
    names = {name for each in COMBINATIONS for name in (each.parameter, each.other)}
    given = {name: value for name in names if (value := _value(resolved, name))}
    ours = {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"}
    preempts = any(qos.preempts for qos in resolved.slurm.qos)
    return {**OF_HYPERPOD, **(ours if preempts else {}), **given}


def _place(resolved: Resolved, name: str) -> YamlPath | None:
    """Return where a parameter is set, in whatever case; None where it is not."""
    given = (key for key in resolved.slurm.settings if key.lower() == name.lower())
    key = next(given, None)
    return None if key is None else ("slurm", "settings", key)


def _required(resolved: Resolved, name: str) -> YamlPath:
    return _place(resolved, name) or ("slurm", "settings")


def _value(resolved: Resolved, name: str) -> str | None:
    path = _place(resolved, name)
    return resolved.slurm.settings[str(path[-1])] if path else None


def _number(resolved: Resolved, name: str) -> int | None:
    """Return the number that holds for a parameter; None where it is set to something else."""
    value = _value(resolved, name)
    if value is None:
        return DEFAULTS.get(name.lower())
    return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
