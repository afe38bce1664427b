"""Samples in the text format that Prometheus reads (Prometheus, exposition formats)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from slurmpod_exporter.families import FAMILIES


class Sample(NamedTuple):
    """One value now; `name` is a key of FAMILIES."""

    name: str
    labels: Mapping[str, str]
    value: float


def exposition(samples: Iterable[Sample]) -> str:
    """Return the text: samples of one name stand together, below what they are."""
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    lines: list[str] = []
    for name, found in by_name.items():
        family = FAMILIES[name]
        lines += [f"# HELP {name} {family.meaning}", f"# TYPE {name} {family.kind}"]
        lines += map(_line, found)
    return "".join(f"{line}\n" for line in lines)


def _line(sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
    return f"{sample.name}{{{labels}}} {float(sample.value)!r}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
