"""Lustre on this node: the client's own statistics (Lustre manual, 40.2.2, llite)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod_exporter.collector import Collector, Host
from slurmpod_exporter.exposition import Sample

PARAMETER = re.compile(r"llite\.(?P<name>\S+?)-[0-9a-f]+\.stats=")
BYTES = {"read_bytes": "read", "write_bytes": "write"}
OPERATIONS = ("open", "close", "getattr", "setattr", "unlink", "mkdir", "statfs")


def _collect(host: Host) -> Iterator[Sample]:
    file_system = ""
    for line in host.run("lctl", "get_param", "llite.*.stats").splitlines():
        if match := PARAMETER.match(line):
            file_system = match["name"]
            continue
        yield from _sample(file_system, line.split())


def _sample(file_system: str, words: list[str]) -> Iterator[Sample]:
    """Read `<name> <count> samples [<unit>] <smallest> <largest> <sum>...`."""
    if len(words) > 6 and words[0] in BYTES:
        labels = {"file_system": file_system, "kind": BYTES[words[0]]}
        yield Sample("slurmpod_lustre_bytes_total", labels, float(words[6]))
    elif len(words) > 1 and words[0] in OPERATIONS:
        labels = {"file_system": file_system, "kind": words[0]}
        yield Sample("slurmpod_lustre_operations_total", labels, float(words[1]))


def _is_mounted(host: Host) -> bool:
    return host.has("lctl") and " lustre " in host.read("/proc/self/mounts")


LUSTRE = Collector("lustre", _is_mounted, _collect)
