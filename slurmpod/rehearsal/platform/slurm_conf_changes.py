"""How slurm.conf is written again when nodes come and go: by the cluster's strategy. Pure.

The strategies are those of SlurmConfigStrategy (developer guide, migration to the API): Overwrite
replaces everything, Merge and Managed change HyperPod's own entries and keep what else is there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmpod.resolve.resolved import ALL_NODES_PARTITION

if TYPE_CHECKING:
    from collections.abc import Mapping

OVERWRITE = "Overwrite"
MANAGED = "Managed"
_OWNED = ("ClusterName", "SlurmctldHost", "NodeName", "PartitionName")
_ENTRY = re.compile(rf"^\s*({'|'.join(_OWNED)})\s*=\s*(\S+)", re.IGNORECASE)
_NODES = re.compile(r"\sNodes=\S+", re.IGNORECASE)


def rewritten(current: str, wanted: str, strategy: str) -> str:
    """Return the next text of a configuration file from its current text and from HyperPod's.

    Entries of nodes that are gone go, new ones come last; a partition that only the file has
    stays, and what somebody added to an entry of HyperPod's, such as a time limit, does too.
    """
    if strategy == OVERWRITE:
        return wanted
    entries = _entries(wanted)
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

    HyperPod does not look at any other difference.
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


def _entries(text: str) -> dict[tuple[str, str], str]:
    return {key: line for line in text.splitlines() if (key := _key(line))}


def _key(line: str) -> tuple[str, str] | None:
    """Return which of HyperPod's entries a line is, None when it is somebody else's."""
    match = _ENTRY.match(line)
    if match is None:
        return None
    keyword = match.group(1).lower()
    return keyword, "" if keyword == "clustername" else match.group(2)


def _with_nodes_of(line: str, wanted: str) -> str:
    """Return a partition's line with the nodes that are wanted now; other lines as they are."""
    if _key(line) != _key(wanted) or "PartitionName" not in wanted:
        return line
    match = _NODES.search(wanted)
    nodes = match.group() if match else ""
    if _NODES.search(line):
        return _NODES.sub(lambda _: nodes, line)
    return f"{line.rstrip()}{nodes}"
