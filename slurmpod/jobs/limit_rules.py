"""Rules that check a job against the limits of a cluster: time, accounts, QOS, arrays, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address

from slurmpod.bundle.slurm_settings import slurm_accounts
from slurmpod.jobs.calls import Option
from slurmpod.jobs.options import is_unlimited, minutes
from slurmpod.jobs.partitions import asked_partitions, takes_no_nodes
from slurmpod.jobs.registry import ClusterTopic, ScriptFinding
from slurmpod.jobs.script import Script
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import ROOT, enforces_limits

LIMITS = ClusterTopic("JOB", "Limits of the cluster (--env)")

SBATCH = "https://slurm.schedmd.com/sbatch.html"
SLURM_CONF = "https://slurm.schedmd.com/slurm.conf.html"
FOREVER = float("inf")
MOST_INDICES = 1001
"""Default of MaxArraySize: indices are below it (slurm.conf(5))."""

INDEX = re.compile(r"[0-9]{1,9}", re.ASCII)
STEP_OR_LIMIT = re.compile(r":[0-9]*|%.*", re.ASCII)
NODE = re.compile(r"ip-([0-9]{1,3})-([0-9]{1,3})-([0-9]{1,3})-([0-9]{1,3})", re.ASCII)
PATTERN = re.compile(r"[\[\]/*]")
DECLARED = frozenset({"none", "gpu", "neuron"})
"""Generic resources that a cluster of HyperPod can have by itself."""

OF_NO_NODE = {
    "constraint": ("nodefeaturesplugins", "Invalid feature specification"),
    "prefer": ("nodefeaturesplugins", "Invalid preferred feature specification"),
    "licenses": ("licenses", "Invalid license specification"),
    "tmp": ("", "Temporary disk specification can not be satisfied"),
}
"""Options for resources that HyperPod does not configure: the setting of slurm.conf, and the
message of sbatch without it.
"""

FEATURES = ("constraint", "prefer")
"""How a user's script may add features to a node: `scontrol update NodeName=... Features=...`."""


@LIMITS.rule(
    "JOB-052",
    "The job requests nothing that no node has",
    why="HyperPod configures neither features nor temporary disk space on nodes, and no "
    "licenses. Slurm refuses jobs that request them.",
    fix="remove the option; a partition chooses the kind of nodes",
    source=f"{SBATCH}#OPT_constraint",
)
def _nodes_have_it(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    given = _settings(resolved)
    unknown: tuple[str, ...] = (
        FEATURES if resolved.lifecycle.hooks or resolved.lifecycle.own_scripts else ()
    )
    if takes_no_nodes(script):
        unknown = (*unknown, "tmp")
    for name, (setting, said) in OF_NO_NODE.items():
        option = None if name in unknown else script.option(name)
        if option and option.value not in ("", "0") and setting not in given:
            message = f'no node has what --{name}={option.value} asks for ("{said}")'
            yield ScriptFinding(option.place, message)
    yield from _unknown_resources(script, resolved)


@LIMITS.rule(
    "JOB-053",
    "The job has time in its partitions",
    why="Slurm refuses a job that asks for more time than one of its partitions allows.",
    fix="ask for less time, or for a partition with more",
    source=f"{SLURM_CONF}#OPT_EnforcePartLimits",
)
def _time_is_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    option = script.option("time") or script.option("time-min")
    if not option:
        return
    names = asked_partitions(script, resolved)
    limits = {each.name: each.max_time for each in resolved.slurm.partitions if each.max_time}
    wanted = _limit(option.value)
    short = [name for name in names if name in limits and wanted > _limit(limits[name])]
    if option.name == "time-min" and len(short) < len(names):
        return
    for name in short:
        said = "Requested time limit is invalid"
        yield _too_long(option, f"partition {name}", limits[name], said)


@LIMITS.rule(
    "JOB-065",
    "The job has time in its QOS",
    why="Slurm takes a job that asks for more time than its QOS allows, and never starts it.",
    fix="ask for less time, or for a QOS with more",
    source="https://slurm.schedmd.com/resource_limits.html",
)
def _qos_has_time(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    option, qos = script.option("time"), script.option("qos")
    for each in resolved.slurm.qos if option and qos and enforces_limits(resolved) else ():
        is_chosen = _qos(qos) == [each.name]
        if option and is_chosen and each.max_time and _limit(option.value) > _limit(each.max_time):
            said = "QOSMaxWallDurationPerJobLimit"
            yield _too_long(option, f"QOS {each.name}", each.max_time, said)


@LIMITS.rule(
    "JOB-054",
    "The account may use the partition",
    why="Slurm refuses jobs of accounts that are not among the partition's allowed_accounts.",
    fix="name an account or a partition that go together",
    source=f"{SLURM_CONF}#OPT_AllowAccounts",
)
def _account_is_allowed(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    option = script.option("account")
    names = asked_partitions(script, resolved)
    for each in resolved.slurm.partitions:
        allowed = each.allowed_accounts
        if option and each.name in names and allowed and option.value.lower() not in allowed:
            said = "Invalid account or account/partition combination"
            yield _not_allowed(option, each.name, allowed, said)


@LIMITS.rule(
    "JOB-055",
    "The QOS may be used",
    why="Slurm refuses a QOS that is not among the partition's allowed_qos, or not among those of "
    "the job's account.",
    fix="name a QOS that both the partition and the account have",
    source=f"{SLURM_CONF}#OPT_AllowQos",
)
def _qos_is_allowed(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    option, account = script.option("qos"), script.option("account")
    if not option:
        return
    said = "Invalid qos specification"
    if len(set(_qos(option))) < len(_qos(option)):
        yield ScriptFinding(option.place, f'--qos={option.value} names one twice ("{said}")')
    names = asked_partitions(script, resolved)
    for each in resolved.slurm.partitions:
        if each.name in names and each.allowed_qos and set(_qos(option)) - {*each.allowed_qos}:
            yield _not_allowed(option, each.name, each.allowed_qos, said)
    for whole in slurm_accounts(resolved) if account and enforces_limits(resolved) else ():
        is_its = account is not None and account.value.lower() == whole.name != ROOT
        if is_its and set(_qos(option)) - {*whole.qos} and not _users_have_qos(resolved):
            yield _not_allowed(option, f"account {whole.name}", whole.qos, said)


@LIMITS.rule(
    "JOB-057",
    "The indices of an array are below MaxArraySize",
    why="Slurm refuses an array with an index that is not below MaxArraySize: "
    f"{MOST_INDICES}, unless slurm.settings says otherwise.",
    fix="give each task several pieces of work, or set MaxArraySize under slurm.settings",
    source=f"{SLURM_CONF}#OPT_MaxArraySize",
)
def _array_is_small_enough(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    option = script.option("array")
    size = _settings(resolved).get("maxarraysize", str(MOST_INDICES))
    indices = INDEX.findall(STEP_OR_LIMIT.sub("", option.value)) if option else []
    most = max(map(int, indices), default=0)
    if option and size.isdigit() and most >= int(size):
        message = f"index {most} is not below MaxArraySize, {size}"
        yield ScriptFinding(option.place, f'{message} ("Invalid job array specification")')


@LIMITS.rule(
    "JOB-058",
    "Named nodes can exist",
    why="HyperPod names nodes after their addresses, which come from the private subnets. Slurm "
    "refuses a job that names a node that does not exist.",
    fix="leave the nodes to Slurm, or copy their names from sinfo -N",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-operate-slurm.html",
)
def _nodes_can_exist(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    for name in ("nodelist", "exclude"):
        option = script.option(name)
        for node in option.value.split(",") if option and not PATTERN.search(option.value) else ():
            if option and not _can_be_node(node, resolved):
                message = f'{node} is no node of {resolved.name} ("Invalid node name specified")'
                yield ScriptFinding(option.place, message)


def _unknown_resources(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    """Yield what --gres names, and neither HyperPod nor slurm.conf declares."""
    known = {*DECLARED, *_settings(resolved).get("grestypes", "").split(",")}
    option = script.option("gres")
    for part in option.value.split(",") if option else ():
        name = re.split("[:=]", part.removeprefix("gres/").removeprefix("gres:"))[0]
        if option and part and name not in known:
            message = f"no node has '{name}' (\"Invalid generic resource (gres) specification\")"
            yield ScriptFinding(option.place, message)


def _settings(resolved: Resolved) -> dict[str, str]:
    """Return what slurm.settings says by names in lower case, as Slurm reads them."""
    return {name.lower(): value for name, value in resolved.slurm.settings.items()}


def _limit(text: str) -> float:
    if is_unlimited(text):
        return FOREVER
    return minutes(text) or (FOREVER if text.strip("0:") == "" else 0)


def _too_long(option: Option, where: str, limit: str, said: str) -> ScriptFinding:
    message = f'--{option.name}={option.value} is more than {where} allows, {limit} ("{said}")'
    return ScriptFinding(option.place, message)


def _not_allowed(option: Option, where: str, allowed: tuple[str, ...], said: str) -> ScriptFinding:
    message = f'{where} allows {", ".join(allowed)}, not {option.value} ("{said}")'
    return ScriptFinding(option.place, message)


def _qos(option: Option | None) -> list[str]:
    """Return the QOS that an option names, between commas: Slurm chooses one of them."""
    return option.value.lower().split(",") if option else []


def _users_have_qos(resolved: Resolved) -> bool:
    return any(known.user.qos for known in resolved.access.users)


def _can_be_node(name: str, resolved: Resolved) -> bool:
    """Return whether a name is that of an address in a private subnet, or may be."""
    match = NODE.fullmatch(name)
    if not match or any(int(each) > 255 for each in match.groups()):
        return False
    address = IPv4Address(".".join(match.groups()))
    cidrs = [subnet.cidr for subnet in resolved.network.private]
    return not all(cidr and address not in cidr for cidr in cidrs)
