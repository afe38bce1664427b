"""Slurm's accounting manager: its output, and the commands that bring it to the wanted state.

Pure except for `table`. Options that are not wanted explicitly are left alone; nothing is ever
removed except limits of entries that the environment names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slurmpod_lifecycle import slurm
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import Value

MEBIBYTES = {"K": 2**-10, "M": 1, "G": 2**10, "T": 2**20, "P": 2**30}
NO_LIMIT = "-1"

Row = dict[str, str]


def table(machine: Machine, what: str, columns: Sequence[str], *where: str) -> list[Row]:
    """Return the rows of `sacctmgr show`, as dictionaries by column name."""
    options = ("--noheader", "--parsable2", "show", what, *where, f"format={','.join(columns)}")
    lines = slurm.command(machine, "sacctmgr", *options).split("\n")
    return [dict(zip(columns, line.split("|"), strict=False)) for line in lines if line]


def changes(wanted: Mapping[str, Value], shown: Mapping[str, str]) -> list[str]:
    """Return `option=value` for each option that differs from the wanted value, sorted."""
    found = {name: _change(value, shown.get(name, "")) for name, value in wanted.items()}
    return [f"{name}={value}" for name, value in sorted(found.items()) if value is not None]


def _change(wanted: Value, shown: str) -> str | None:
    """Return the options to set, or None if nothing differs."""
    if isinstance(wanted, str):
        return None if wanted == shown else wanted or NO_LIMIT
    if isinstance(wanted, Mapping):
        return _changed_amounts(wanted, amounts(shown))
    names = set(shown.split(",")) - {""}
    return None if set(wanted) == names else ",".join(wanted)


def _changed_amounts(wanted: Mapping[str, int], shown: Mapping[str, int]) -> str | None:
    if dict(wanted) == dict(shown):
        return None
    removed = {name: int(NO_LIMIT) for name in shown if name not in wanted}
    everything = sorted({**removed, **wanted}.items())
    return ",".join(f"{name}={amount}" for name, amount in everything)


def amounts(text: str) -> dict[str, int]:
    """Read amounts by resource, such as `cpu=8,mem=2T`; memory becomes MiB."""
    pairs = (pair.split("=", 1) for pair in text.split(",") if "=" in pair)
    return {name: _amount(amount) for name, amount in pairs}


def _amount(text: str) -> int:
    unit = MEBIBYTES.get(text[-1:])
    return int(text) if unit is None else int(float(text[:-1]) * unit)
