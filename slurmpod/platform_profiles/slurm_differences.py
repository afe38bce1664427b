"""Differences between a live controller's Slurm configuration and a profile; pure.

A live value matches if the profile's text, with any text in its `{places}`, produces it. Lines
that users and scripts add by `include` are not HyperPod's; comments are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from slurmpod.platform_profiles.difference import Difference
from slurmpod.platform_profiles.profile import Line, SlurmConf

_PLACE = re.compile(r"\{[a-z_]+\}")
_ONE_SWITCH = ("SwitchName=switch Nodes={nodes}",)


def slurm_differences(
    files: Mapping[str, str], conf: SlurmConf, login_nodes: Collection[str]
) -> tuple[Difference, ...]:
    """Return the differences between a controller's files and a profile.

    `files` are keyed by name; `login_nodes` are the host names of the login nodes.
    """
    lines = [*_lines(files.get("slurm.conf", ""))]
    nodes = [line for line in lines if "NodeName" in line]
    partitions = [line for line in lines if "PartitionName" in line]
    dev = [line for line in partitions if line["PartitionName"] == "dev"]
    others = [line for line in partitions if line not in dev and "Nodes" in line]
    settings = [line for line in lines if line not in nodes and line not in partitions]
    extra = conf.more_without_on_create | conf.more_with_gpus
    cgroup = _as_one(_lines(files.get("cgroup.conf", "")))
    found = [
        *_between(("lines",), conf.lines, _without(_as_one(settings), extra)),
        *_of_first(("node",), conf.node, sorted(nodes, key=lambda line: "Gres" not in line)),
        *_of_first(("dev_partition",), conf.dev_partition, dev),
        *_of_first(("group_partition",), conf.group_partition, others),
        *_of_first(("gres_conf",), conf.gres_conf, [*_lines(files.get("gres.conf", ""))]),
        *_between(("cgroup_conf",), conf.cgroup_conf, cgroup),
        *_of_topology(conf, files.get("topology.conf", ""), nodes),
        *_of_login_nodes(conf, nodes, login_nodes),
    ]
    return tuple(replace(each, place=("slurm_conf", *each.place)) for each in found)


def _lines(text: str) -> Iterator[Line]:
    """Yield the words of each line, without comments, secrets and included files."""
    for written in text.splitlines():
        line = re.sub(r"(^|\s)#.*", "", written).strip()
        words = re.findall(r'([A-Za-z]\w*)=("[^"]*"|\S+)', line)
        if words and not line.lower().startswith("include"):
            yield dict(words)


def _without(live: Line, more: Line) -> Line:
    """Return the live values without those that the profile has only on some controllers."""
    return {key: value for key, value in live.items() if more.get(key) != value}


def _as_one(lines: Iterable[Line]) -> Line:
    return {key: value for line in lines for key, value in line.items()}


def _of_first(place: tuple[str, ...], words: Line, lines: Collection[Line]) -> Iterator[Difference]:
    """Compare the first of several similar lines; yield nothing if there are none."""
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
    """Return a profile's value as Slurm reads it: without quotes and trailing comment."""
    return re.sub(r"\s#.*", "", text).strip('"')


def _gives(text: str, live: str | None) -> bool:
    """Return whether a text with places can produce the live value."""
    pattern = ".+".join(map(re.escape, _PLACE.split(text)))
    return live is not None and re.fullmatch(pattern, live.strip('"')) is not None


def _of_login_nodes(
    conf: SlurmConf, nodes: Collection[Line], login_nodes: Collection[str]
) -> Iterator[Difference]:
    if not login_nodes or not nodes:
        return
    listed = any(line["NodeName"] in login_nodes for line in nodes)
    if listed != conf.login_nodes:
        yield Difference(("login_nodes",), conf.login_nodes, listed)


def _of_topology(conf: SlurmConf, text: str, nodes: Collection[Line]) -> Iterator[Difference]:
    """Compare only whether a topology is described: its contents depend on the cluster."""
    is_described = any(_lines(text))
    is_due = bool(conf.topology_conf) and any("Gres" in line for line in nodes)
    if is_described != is_due:
        live = [*_ONE_SWITCH] if is_described else []
        yield Difference(("topology_conf",), [*conf.topology_conf], live)
