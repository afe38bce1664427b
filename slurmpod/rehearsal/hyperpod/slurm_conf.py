"""slurm.conf as HyperPod writes it, and rewrites it when nodes are added or removed; pure.

The profile defines its lines.

The strategies are those of SlurmConfigStrategy (developer guide, migration to the API): Overwrite
replaces everything, Merge and Managed change HyperPod's own entries and keep all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slurmpod.platform_profiles.profile import AccountingInclude, SlurmConf
from slurmpod.resolve.resolved import ALL_NODES_PARTITION

SLURM_ETC = "/opt/slurm/etc"
SLURM_CONF = f"{SLURM_ETC}/slurm.conf"
GRES_CONF = f"{SLURM_ETC}/gres.conf"
TOPOLOGY_CONF = f"{SLURM_ETC}/topology.conf"
INCLUDE_ACCOUNTING = "include accounting.conf"


@dataclass(frozen=True)
class Controller:
    """One SlurmctldHost line; the first controller is the primary one."""

    name: str
    address: str


@dataclass(frozen=True)
class SlurmNode:
    """One node line: `ip-a-b-c-d`, its address, its resources, and its group's partition."""

    name: str
    address: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    gpus: int
    partition: str | None

    @property
    def cpus(self) -> int:
        """The CPUs that Slurm schedules: all threads of all cores."""
        return self.sockets * self.cores_per_socket * self.threads_per_core


@dataclass(frozen=True)
class SlurmLayout:
    """The contents of one cluster's slurm.conf; a partition may have no nodes.

    `without_on_create` is whether HyperPod sets up the controllers by itself.
    """

    cluster_name: str
    controllers: tuple[Controller, ...]
    nodes: tuple[SlurmNode, ...]
    partitions: tuple[str, ...]
    without_on_create: bool


def slurm_files(
    layout: SlurmLayout, conf: SlurmConf, *, with_nodes: bool = True
) -> Mapping[str, bytes]:
    """Return the controller's configuration files by path, slurm.conf last."""
    lines = [
        *_first_lines(layout, conf),
        *([INCLUDE_ACCOUNTING] if _includes_accounting(layout, conf) else []),
    ]
    if with_nodes:
        lines += (_filled(conf.node, _values(node)) for node in layout.nodes)
        lines += _partition_lines(layout, conf)
    gres = [_filled(conf.gres_conf, _values(node)) for node in layout.nodes if node.gpus]
    topology = _topology(layout, conf) if with_nodes else []
    return {
        GRES_CONF: _text(gres),
        f"{SLURM_ETC}/cgroup.conf": _text(_word(*word) for word in conf.cgroup_conf.items()),
        **({TOPOLOGY_CONF: _text(topology)} if topology else {}),
        SLURM_CONF: _text(lines),
    }


def partition_members(layout: SlurmLayout) -> Mapping[str, tuple[str, ...]]:
    """Return the node names of each partition that a group names."""
    return {
        partition: tuple(node.name for node in layout.nodes if node.partition == partition)
        for partition in layout.partitions
    }


def _first_lines(layout: SlurmLayout, conf: SlurmConf) -> Iterable[str]:
    """Return the lines above the nodes; a line about a controller is repeated for each."""
    hosts = [{"host": host.name, "address": host.address} for host in layout.controllers]
    more = dict(conf.more_with_gpus) if _has_gpus(layout) else {}
    more |= conf.more_without_on_create if layout.without_on_create else {}
    for key, text in (conf.lines | more).items():
        for host in hosts if "{host}" in text else [{}]:
            yield _filled({key: text}, {"cluster": layout.cluster_name, **host})


def _has_gpus(layout: SlurmLayout) -> bool:
    return any(node.gpus for node in layout.nodes)


def _topology(layout: SlurmLayout, conf: SlurmConf) -> list[str]:
    names = ",".join(node.name for node in layout.nodes)
    return [line.replace("{nodes}", names) for line in conf.topology_conf if _has_gpus(layout)]


def _includes_accounting(layout: SlurmLayout, conf: SlurmConf) -> bool:
    if conf.accounting_include is AccountingInclude.WITHOUT_ON_CREATE:
        return layout.without_on_create
    return conf.accounting_include is AccountingInclude.ALWAYS


def _partition_lines(layout: SlurmLayout, conf: SlurmConf) -> Iterable[str]:
    """Return HyperPod's partition of all nodes, then one per partition that a group names."""
    yield _filled(conf.dev_partition, {})
    for partition, names in partition_members(layout).items():
        nodes = ",".join(names) or None
        yield _filled(conf.group_partition, {"partition": partition, "nodes": nodes})


def _values(node: SlurmNode) -> Mapping[str, str | None]:
    return {
        "name": node.name,
        "address": node.address,
        "cpus": str(node.cpus),
        "sockets": str(node.sockets),
        "cores": str(node.cores_per_socket),
        "threads": str(node.threads_per_core),
        "memory_mib": str(node.memory_mib),
        "gpus": str(node.gpus) if node.gpus else None,
        "last_gpu": str(node.gpus - 1) if node.gpus else None,
    }


def _filled(words: Mapping[str, str], values: Mapping[str, str | None]) -> str:
    """Return the words with their values filled in; words without a value are left out."""
    return " ".join(
        _word(key, _PLACE.sub(lambda place: values.get(place[1]) or place[0], text))
        for key, text in words.items()
        if not any(name in values and values[name] is None for name in _PLACE.findall(text))
    )


_PLACE = re.compile(r"\{([a-z_]+)\}")


def _word(key: str, text: str) -> str:
    """Return `key=text`; for a comment, only the key."""
    return key if key.startswith("#") else f"{key}={text}"


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


OVERWRITE = "Overwrite"
MANAGED = "Managed"
_OWNED = ("ClusterName", "SlurmctldHost", "NodeName", "PartitionName")
_ENTRY = re.compile(rf"^\s*({'|'.join(_OWNED)})\s*=\s*(\S+)", re.IGNORECASE)
_NODES = re.compile(r"\sNodes=\S+", re.IGNORECASE)


def rewritten(current: str, wanted: str, strategy: str) -> str:
    """Return the new text of a configuration file from its current text and HyperPod's.

    Entries of removed nodes are removed, new ones are appended; partitions that only the file has
    stay, and so do additions to HyperPod's entries, such as a time limit.
    """
    if strategy == OVERWRITE:
        return wanted
    entries = {key: line for line in wanted.splitlines() if (key := _key(line))}
    kept = []
    for line in current.splitlines():
        key = _key(line)
        if key is None:
            kept.append(line)
        elif key in entries:
            kept.append(_with_nodes_of(line, entries.pop(key)))
        elif key[0] == "partitionname":
            kept.append(line)
    return "".join(f"{line}\n" for line in [*kept, *entries.values()])


def partition_drift(current: str, expected: Mapping[str, tuple[str, ...]]) -> str:
    """Return how the partitions in slurm.conf differ from those expected; empty if they do not.

    HyperPod checks no other differences.
    """
    found = {}
    for line in current.splitlines():
        key = _key(line)
        if key and key[0] == "partitionname" and key[1] != ALL_NODES_PARTITION:
            nodes = _NODES.search(line)
            names = nodes.group().partition("=")[2].split(",") if nodes else []
            found[key[1]] = tuple(names)
    unknown = sorted(found.keys() - expected.keys())
    if unknown:
        return f"no instance group defines the partition {', '.join(unknown)}"
    different = sorted(name for name in expected if set(found.get(name, ())) != set(expected[name]))
    return f"other nodes are in the partition {', '.join(different)}" if different else ""


def _key(line: str) -> tuple[str, str] | None:
    """Return which of HyperPod's entries a line is, None if it is not one."""
    match = _ENTRY.match(line)
    if match is None:
        return None
    keyword = match.group(1).lower()
    return keyword, "" if keyword == "clustername" else match.group(2)


def _with_nodes_of(line: str, wanted: str) -> str:
    """Return a partition's line with its current nodes; other lines unchanged."""
    if _key(line) != _key(wanted) or "PartitionName" not in wanted:
        return line
    match = _NODES.search(wanted)
    nodes = match.group() if match else ""
    if _NODES.search(line):
        return _NODES.sub(lambda _: nodes, line)
    return f"{line.rstrip()}{nodes}"
