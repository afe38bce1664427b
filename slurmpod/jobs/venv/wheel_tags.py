"""Whether nodes can install a wheel, by what its name says. Pure.

Source: Python packaging user guide, "Platform compatibility tags".
"""

from __future__ import annotations

import re

GLIBC = 28
"""Of the platform for which uv resolves: wheels of manylinux_2_28 and before."""

FAMILIES = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}
"""The minor version of glibc for the older names."""


def fits(wheel: str, python: str, processor: str) -> bool:
    """Return whether a CPython such as 3.10 installs it on Linux with x86_64 or aarch64."""
    versions, abis, platforms = (
        each.split(".") for each in wheel.removesuffix(".whl").rsplit("-", 3)[1:]
    )
    minor = int(python.split(".")[1])
    return (
        any(_of_python(each, abis, minor) for each in versions)
        and not {"none", "abi3", f"cp3{minor}"}.isdisjoint(abis)
        and any(_of_platform(each, processor) for each in platforms)
    )


def _of_python(version: str, abis: list[str], minor: int) -> bool:
    found = re.fullmatch(r"(py|cp)3(\d*)", version)
    if not found:
        return False
    oldest = int(found[2] or 0)
    later_too = found[1] == "py" or "abi3" in abis
    return oldest <= minor if later_too else oldest == minor


def _of_platform(platform: str, processor: str) -> bool:
    if platform == "any":
        return True
    family, _, _ = platform.partition(f"_{processor}")
    if family == platform:
        return False
    found = re.fullmatch(r"manylinux_2_(\d+)", family)
    return family == "linux" or (int(found[1]) if found else FAMILIES.get(family, 99)) <= GLIBC
