"""The findings of cdk-nag that the stacks accept, as data for the tool, which never imports them.

`make golden` writes `slurmpod/data/accepted_findings.json`.
"""

from __future__ import annotations

import json

from slurmpod_cdk.nag.table import ALL_WAIVERS

FILE = "slurmpod/data/accepted_findings.json"


def accepted_findings() -> str:
    """Return each reason once, with its rules and stacks."""
    found: dict[str, dict[str, set[str]]] = {}
    for waiver in ALL_WAIVERS:
        entry = found.setdefault(waiver.reason, {"rules": set(), "stacks": set()})
        entry["rules"].add(waiver.rule)
        entry["stacks"].add(waiver.path.partition("/")[0].removeprefix("*-"))
    rows = [
        {"reason": reason, **{key: sorted(values) for key, values in entry.items()}}
        for reason, entry in found.items()
    ]
    return json.dumps(rows, indent=1) + "\n"
