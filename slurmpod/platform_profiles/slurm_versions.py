"""The Slurm versions available on rehearsed nodes, and the Debian release that packages each.

HyperPod's images have 24.11 and 25.11. Debian has no 25.11: stable has the version before it and
testing the one after it. The machine image is built with the standard library alone, so this
module imports nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SlurmVersion(StrEnum):
    """A version of Slurm, oldest first."""

    V24_11 = "24.11"
    V26_05 = "26.05"


@dataclass(frozen=True)
class Debian:
    """A Debian release: its `suite`, its Python, and a second suite for packages it lacks.

    The packages in `from_beside` exist in both; the older version, from `beside`, is installed.
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
        from_beside=("prometheus", "libjs-popper.js"),  # for Prometheus's own web page
    ),
}

DEFAULT_SLURM = SlurmVersion.V26_05
"""The Slurm version of the default profile."""


def nearest(version: str) -> SlurmVersion:
    """Return the version that represents a cluster's version: the oldest that is not older."""
    year, _, rest = version.partition(".")
    wanted = (int(year), int(rest.partition(".")[0]))
    return next((each for each in SlurmVersion if _numbers(each) >= wanted), [*SlurmVersion][-1])


def _numbers(version: SlurmVersion) -> tuple[int, int]:
    year, month = version.split(".")
    return int(year), int(month)
