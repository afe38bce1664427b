"""The program with which a live node reports what HyperPod has installed on it."""

from __future__ import annotations

from pathlib import Path

from slurmpod_lifecycle import platform_facts


def platform_facts_program() -> str:
    """Return the lifecycle scripts' program, in Python: it prints one line of JSON."""
    return Path(platform_facts.__file__).read_text(encoding="utf-8")
