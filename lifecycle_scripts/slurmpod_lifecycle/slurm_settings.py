"""What of Slurm's configuration the environment says: the `slurm` part of settings.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Value = str | Sequence[str] | Mapping[str, int]
"""A text, names in any order, or amounts by resource; empty for no limit."""


@dataclass(frozen=True)
class Account:
    """An account with the options of its association, by their names in sacctmgr."""

    name: str
    description: str
    options: Mapping[str, Value]


@dataclass(frozen=True)
class SlurmSettings:
    """Parameters of slurm.conf, options of partitions and QOS by name, and accounts, top first."""

    configuration: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    qos: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    accounts: tuple[Account, ...] = ()

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> SlurmSettings:
        """Read the part; raises KeyError or TypeError for one that is not whole."""
        return cls(
            configuration=data["configuration"],
            partitions=data["partitions"],
            qos=data["qos"],
            accounts=tuple(Account(**account) for account in data["accounts"]),
        )
