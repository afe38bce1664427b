"""Files of a live controller -> how it differs from a profile, and that as a profile; pure.

A value is the same where the profile's text, with anything in its `{places}`, gives it. What people
and scripts add by `include` is none of HyperPod's; comments and passwords are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slurmpod.platform_profiles.profile import Line, SlurmConf

CONTROLLER_FILES = ("slurm.conf", "gres.conf", "cgroup.conf")
"""What is read in /opt/slurm/etc."""

BREAKS: Mapping[str, str] = {
    "TaskPlugin": "auto-resume works with task/none alone",
    "PrologFlags": "auto-resume refuses Alloc; prologs run at another time",
    "SlurmctldParameters": "other nodes fetch their configuration only with enable_configless",
    "AuthType": "daemons do not know each other",
    "GresTypes": "jobs that ask for GPUs are refused without it",
    "Gres": "jobs that ask for GPUs wait or are refused",
    "File": "jobs see other GPUs, or slurmd does not start",
    "SelectType": "jobs share nodes in another way",
    "SelectTypeParameters": "jobs share nodes in another way",
    "OverSubscribe": "a job has a node alone, or shares it",
    "RealMemory": "jobs that ask for memory are placed otherwise, or refused",
    "login_nodes": "sinfo and jobs count login nodes",
    "Nodes": "jobs go to other nodes",
    "MaxTime": "jobs end after another time",
    "Default": "jobs without a partition go elsewhere",
    "ReturnToService": "nodes that were down come back by themselves, or do not",
    "TopologyPlugin": "jobs are spread over switches in another way",
    "SchedulerParameters": "auto-resume in place needs permit_job_expansion",
    "StateSaveLocation": "scripts that save or share the state look elsewhere",
    "SlurmctldLogFile": "log rotation and alarms look elsewhere",
    "SlurmdLogFile": "log rotation and alarms look elsewhere",
    "MpiDefault": "srun starts MPI programs in another way",
}
"""What differs may break, the worst first."""

OWN_OF_REHEARSALS = frozenset({"SlurmdParameters", "MailProg", "ProctrackType", "CgroupPlugin"})
"""Settings that nodes of a rehearsal need as they are, whatever a live cluster has."""

_PLACE = re.compile(r"\{[a-z_]+\}")
_SECRET = re.compile("pass", re.IGNORECASE)


@dataclass(frozen=True)
class Difference:
    """A value of the profile, at its place in the file, and the live one; None where it is not."""

    place: tuple[str, ...]
    profile: str | None
    live: str | None

    @property
    def breaks(self) -> str:
        """What may break with it."""
        key = self.place[-1]
        if key in OWN_OF_REHEARSALS:
            return "a rehearsal needs its own"
        return BREAKS.get(key, "nothing that slurmpod knows of")

    @property
    def rank(self) -> int:
        """Its place among others, the worst first."""
        key = self.place[-1]
        known = [*BREAKS].index(key) if key in BREAKS else len(BREAKS)
        return known + (key in OWN_OF_REHEARSALS)


def differences(
    files: Mapping[str, str], conf: SlurmConf, login_nodes: Collection[str]
) -> tuple[Difference, ...]:
    """Return how a controller's files differ from what a profile says, the worst first.

    `files` go by their names; `login_nodes` are the host names of these nodes.
    """
    lines = [*_lines(files.get("slurm.conf", ""))]
    nodes = [line for line in lines if "NodeName" in line]
    partitions = [line for line in lines if "PartitionName" in line]
    dev = [line for line in partitions if line["PartitionName"] == "dev"]
    others = [line for line in partitions if line not in dev and "Nodes" in line]
    settings = [line for line in lines if line not in nodes and line not in partitions]
    found = [
        *_between(("lines",), conf.lines, _without(_as_one(settings), conf.more_without_on_create)),
        *_of_first(("node",), conf.node, sorted(nodes, key=lambda line: "Gres" not in line)),
        *_of_first(("dev_partition",), conf.dev_partition, dev),
        *_of_first(("group_partition",), conf.group_partition, others),
        *_of_first(("gres_conf",), conf.gres_conf, [*_lines(files.get("gres.conf", ""))]),
        *_between(
            ("cgroup_conf",), conf.cgroup_conf, _as_one(_lines(files.get("cgroup.conf", "")))
        ),
        *_of_login_nodes(conf, nodes, login_nodes),
    ]
    return tuple(sorted(found, key=lambda each: each.rank))


def as_profile(found: Iterable[Difference], about: str, source: str) -> Mapping[str, Any]:
    """Return differences as a profile to be laid upon the one that they are from."""
    values: dict[str, Any] = {}
    for each in found:
        *inside, key = each.place
        if key in OWN_OF_REHEARSALS:
            continue
        section = values
        for name in inside:
            section = section.setdefault(name, {})
        section[key] = each.live == "true" if key == "login_nodes" else each.live
    profile = {"about": about, "source": source, "confidence": "certain"}
    return {**profile, "slurm_conf": values} if values else profile


def _lines(text: str) -> Iterator[Line]:
    """Yield the words of each line, without comments, secrets and what is included."""
    for written in text.splitlines():
        line = re.sub(r"(^|\s)#.*", "", written).strip()
        words = re.findall(r'([A-Za-z]\w*)=("[^"]*"|\S+)', line)
        if words and not line.lower().startswith("include"):
            yield {key: value for key, value in words if not _SECRET.search(key)}


def _without(live: Line, more: Line) -> Line:
    """Return what is live but for what the profile has on some controllers, as it has it."""
    return {key: value for key, value in live.items() if more.get(key) != value}


def _as_one(lines: Iterable[Line]) -> Line:
    return {key: value for line in lines for key, value in line.items()}


def _of_first(place: tuple[str, ...], words: Line, lines: Collection[Line]) -> Iterator[Difference]:
    """Compare the first of lines that are alike; where there is none, nothing is known."""
    for line in [*lines][:1]:
        yield from _between(place, words, line)


def _between(place: tuple[str, ...], words: Line, live: Line) -> Iterator[Difference]:
    expected = {key: _bare(text) for key, text in words.items() if not key.startswith("#")}
    for key in dict.fromkeys((*expected, *live)):
        text, there = expected.get(key), live.get(key)
        is_optional = text is not None and there is None and "gpu" in text
        if not is_optional and not (text is not None and _gives(text, there)):
            yield Difference((*place, key), text, there)


def _bare(text: str) -> str:
    """Return a value of a profile as Slurm takes it: without quotes and a comment behind it."""
    return re.sub(r"\s#.*", "", text).strip('"')


def _gives(text: str, live: str | None) -> bool:
    """Tell whether a text with places can have become what is live."""
    pattern = ".+".join(map(re.escape, _PLACE.split(text)))
    return live is not None and re.fullmatch(pattern, live.strip('"')) is not None


def _of_login_nodes(
    conf: SlurmConf, nodes: Collection[Line], login_nodes: Collection[str]
) -> Iterator[Difference]:
    if not login_nodes or not nodes:
        return
    listed = any(line["NodeName"] in login_nodes for line in nodes)
    if listed != conf.login_nodes:
        yield Difference(("login_nodes",), str(conf.login_nodes).lower(), str(listed).lower())
