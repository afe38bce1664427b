"""A program of several modules as one text, which Slurm carries to nodes without our files."""

from __future__ import annotations

import sys
from pathlib import Path

MODULES = (
    "slurmpod_health.finding",
    "slurmpod_health.probe",
    "slurmpod_health.efa",
    "slurmpod_lifecycle.dataclass_json",
    "slurmpod_checks.settings",
    "slurmpod_checks.throughput",
    "slurmpod_checks.accelerators",
    "slurmpod_checks.carried",
    "slurmpod_checks.collectives",
    "slurmpod_checks.pair",
    "slurmpod_checks.latency",
    "slurmpod_checks.on_node",
)
"""The modules of the program, each after those that it imports."""

PROGRAM = """\
#!/usr/bin/python3
import sys, types
CARRIED = {texts!r}
for name, text in CARRIED.items():
    sys.modules.setdefault(name.partition(".")[0], types.ModuleType(name.partition(".")[0]))
    module = sys.modules[name] = types.ModuleType(name)
    module.CARRIED = CARRIED
    exec(compile(text, name, "exec"), module.__dict__)
sys.modules["slurmpod_checks.{name}"].start()
"""


def text_of(name: str) -> str:
    """Return a program that calls `start` of one of these modules, built here or on a node."""
    carried = getattr(sys.modules[__name__], "CARRIED", None)
    texts = carried or {module: _source(module) for module in MODULES}
    return PROGRAM.format(texts=texts, name=name)


def _source(module: str) -> str:
    package, _, name = module.partition(".")
    folder = Path(__file__).parents[1] / package
    return (folder / f"{name}.py").read_text(encoding="utf-8")
