"""Record the durations of faults.

Usage: slurmpod rehearse ENVIRONMENT --fault all --json >FILE
       python -m tools.fault_figures FILE

The environment is environments/dev.yaml. Faults that need customer mode are run with a file with
`extends: dev.yaml` and `lifecycle: {mode: customer}`, `zone-fails` and `plan-ends` with one whose
workers have another zone and a training plan. Several files may be passed. Faults that they do not
contain keep their figures.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from slurmpod.rehearsal.faults.usual import FILE, Usual


def kept(before: dict[str, Any], outcomes: Iterable[Any]) -> str:
    """Return the file of durations, updated from outcomes of rehearsals or lists of faults."""
    found = dict(before)
    for outcome in outcomes:
        for fault in outcome["faults"] if isinstance(outcome, dict) else outcome:
            found[fault["name"]] = {each.name: fault[each.name] for each in fields(Usual)}
    return json.dumps(dict(sorted(found.items())), indent=2) + "\n"


if __name__ == "__main__":
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    FILE.write_text(kept(known, [json.loads(Path(name).read_text()) for name in sys.argv[1:]]))
