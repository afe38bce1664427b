"""What a collector is: a part of the node's metrics, and when the node has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from slurmpod_exporter.exposition import Sample
from slurmpod_exporter.host import Host


class Collector(NamedTuple):
    """`is_present` tells whether a node has what `collect` reads; that raises CollectorFailed."""

    name: str
    is_present: Callable[[Host], bool]
    collect: Callable[[Host], Iterator[Sample]]
