"""The versions of Slurm that nodes of a rehearsal can have, and the Debian that brings each.

HyperPod's images have 24.11 and 25.11. Debian brings no 25.11: stable has the version before it,
testing the one after it. The machines' image is made with the standard library alone, so this
module needs nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SlurmVersion(StrEnum):
    """A version of Slurm, the oldest first."""

    V24_11 = "24.11"
    V26_05 = "26.05"


@dataclass(frozen=True)
class Debian:
    """A release of Debian: its `suite`, its Python, and a suite with packages that it lacks.

    Those of `from_beside` it has, but newer: they come from there all the same.
    """

    suite: str
    python: str
    beside: str | None = None
    from_beside: tuple[str, ...] = ()


DEBIAN = {
    SlurmVersion.V24_11: Debian("trixie", python="3.13"),
    SlurmVersion.V26_05: Debian(
        "forky",
        python="3.14",
        beside="trixie",  # for tcc
        from_beside=("prometheus", "libjs-popper.js"),  # for the page that a browser can open
    ),
}

DEFAULT_SLURM = SlurmVersion.V26_05
"""The version of the default profile."""


def nearest(version: str) -> SlurmVersion:
    """Return the version that stands for one that a cluster has: the first that is no older."""
    year, _, rest = version.partition(".")
    wanted = (int(year), int(rest.partition(".")[0]))
    return next((each for each in SlurmVersion if _numbers(each) >= wanted), [*SlurmVersion][-1])


def _numbers(version: SlurmVersion) -> tuple[int, int]:
    year, month = version.split(".")
    return int(year), int(month)
