"""The checks, by what they are about: pure judgements of facts, each of which adds to the book."""

from importlib import import_module

from slurmpod.preflight.registry import PREFLIGHT, Check

__all__ = ["PREFLIGHT", "Check"]

MODULES = (
    "account",
    "quotas",
    "capacity",
    "network",
    "paths",
    "data",
    "images",
    "deployment",
    "identity",
    "notifications",
    "services",
)

for _name in MODULES:
    import_module(f"{__name__}.{_name}")
