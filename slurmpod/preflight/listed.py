"""The checks for `slurmpod explain`, also without the AWS SDK.

`make golden` generates `checks.json` beside this file from the checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from slurmpod.problems import Severity
from slurmpod.rulebook import Rule

ListedCheck = Rule[Callable[..., Any]]

FILE = Path(__file__).with_name("checks.json")
SHOWN = ("id", "severity", "title", "why", "fix", "source")


def listed_checks() -> Iterator[ListedCheck]:
    """Yield every check with its texts, but without its function."""
    for each in json.loads(FILE.read_text(encoding="utf-8")):
        severity = Severity(each.pop("severity"))
        yield ListedCheck(**each, severity=severity, check=None)


def to_json(checks: Iterable[Rule[Any]]) -> str:
    """Return the text of `checks.json`."""
    listed = [{name: str(getattr(check, name)) for name in SHOWN} for check in checks]
    return json.dumps(listed, indent=1, ensure_ascii=False) + "\n"
