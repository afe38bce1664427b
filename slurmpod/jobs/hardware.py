"""Sockets, cores and threads that a batch script asks for, as sbatch reads them.

Of --extra-node-info and the options for its parts the last one counts. --hint is not followed
beside some options, and takes others away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.jobs.calls import Option
from slurmpod.jobs.options import options_of, refusal
from slurmpod.jobs.script import Script
from slurmpod.value import Value

PARTS = ("sockets-per-node", "cores-per-socket", "threads-per-core")
ALL_PARTS = "extra-node-info"
UNREAD_HINT = ("ntasks-per-core", "threads-per-core", ALL_PARTS)
"""Options beside which sbatch does not follow --hint."""

UNCERTAIN_HINT = ("sockets-per-node", "cores-per-socket")
"""Options that take --hint away from Slurm 25.11 on, and are taken away by it before."""

HINT_IS_IGNORED = "25.11"

ONE_THREAD = frozenset({"nomultithread", "compute_bound", "memory_bound"})
"""Values of --hint that place tasks on cores, not on threads."""

MOST_DIGITS = 5
COUNT = re.compile(rf"[0-9]{{1,{MOST_DIGITS}}}", re.ASCII)


class Hardware(Value):
    """The minimum of each that a node must have; None if not specified."""

    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None

    @property
    def product(self) -> int:
        """Return how many threads that is, where what is not said counts once."""
        return (self.sockets or 1) * (self.cores_per_socket or 1) * (self.threads_per_core or 1)

    @property
    def is_said(self) -> bool:
        """Return whether anything is."""
        return self != Hardware()


def follows_hint(script: Script) -> bool | None:
    """Return whether sbatch reads --hint; None where that depends on its version."""
    if any(script.option(name) for name in UNREAD_HINT):
        return False
    if not any(script.option(name) for name in UNCERTAIN_HINT):
        return True
    return script.slurm < HINT_IS_IGNORED if script.slurm else None


def hardware_of(script: Script) -> Hardware:
    """Return the hardware that the options of a script request."""
    hint, is_followed = script.option("hint"), follows_hint(script)
    if hint and is_followed is None:
        return Hardware()
    if hint and is_followed:
        return Hardware(
            cores_per_socket=1 if hint.value == "memory_bound" else None,
            threads_per_core=1 if hint.value in ONE_THREAD else None,
        )
    said: dict[str, int | None] = {}
    for option in script.options:
        said |= dict(_said(option))
    return Hardware(*(said.get(name) for name in PARTS))


def _said(option: Option) -> Iterator[tuple[str, int | None]]:
    if option.name in PARTS and not refusal(options_of("sbatch")[option.name], option.value):
        yield option.name, _count(option.value.strip())
    elif option.name == ALL_PARTS:
        values = (*option.value.split(":"), "", "", "")
        yield from zip(PARTS, map(_count, values), strict=False)


def _count(text: str) -> int | None:
    """Return the least number in `2` or `2-4`; None for any, which is written `*`."""
    match = COUNT.match(text.lstrip("+"))
    return int(match[0]) if match else None
