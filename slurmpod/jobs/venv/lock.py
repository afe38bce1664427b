"""A lock (pylock.toml, PEP 751) -> pins of wheels, and sources of packages without one. Pure.

Source: Python packaging user guide, "pylock.toml Specification".
"""

from __future__ import annotations

import tomllib
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from typing import Any

from slurmpod.jobs.venv.pins import checked_requirements
from slurmpod.jobs.venv.sources import NoSource, Source, refuse, source_of
from slurmpod.jobs.venv.wheel_tags import fits
from slurmpod.value import Value


class Locked(Value):
    """The packages: pins, as pip reads them, and sources, which are built first."""

    pins: str
    sources: tuple[Source, ...] = ()


def read_lock(
    file: str, text: str, python: str, processor: str, not_alone: Container[str] = ()
) -> Locked:
    """Return the packages of a lock for nodes; raises InvalidEnvironment with all mistakes.

    Packages that are `not_alone` need others of the environment while they are built.
    """
    pins: list[str] = []
    sources: list[Source] = []
    reasons: list[NoSource] = []
    for package in tomllib.loads(text).get("packages", ()):
        try:
            source = source_of(_for_nodes(package, python, processor))
        except NoSource as reason:
            reasons.append(reason)
            continue
        if source:
            sources.append(replace(source, is_alone=source.name not in not_alone))
        else:
            pins.append(_pin(package))
    refuse(file, reasons)
    if not sources or pins:
        checked_requirements(f"{file}, as uv resolves it", "".join(pins))
    return Locked("".join(pins), tuple(sources))


def _for_nodes(package: Mapping[str, Any], python: str, processor: str) -> Mapping[str, Any]:
    """Return a package with the wheels that nodes can install; with all where none can be built."""
    wheels = [each for each in package.get("wheels", ()) if fits(_name(each), python, processor)]
    return {**package, "wheels": wheels} if "sdist" in package else package


def _name(wheel: Mapping[str, Any]) -> str:
    return str(wheel.get("name") or wheel.get("url") or wheel["path"]).rpartition("/")[2]


def _pin(package: Mapping[str, Any]) -> str:
    marker = f" ; {package['marker']}" if "marker" in package else ""
    hashes = "".join(f" \\\n    --hash=sha256:{each}" for each in sorted(_hashes(package)))
    return f"{package['name']}=={package['version']}{marker}{hashes}\n"


def _hashes(package: Mapping[str, Any]) -> Iterator[str]:
    for wheel in package.get("wheels", ()):
        if found := wheel.get("hashes", {}).get("sha256"):
            yield found
