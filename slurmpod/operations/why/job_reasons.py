"""The meaning of each reason of a job, and whether waiting helps.

`data/job_reasons.csv` has reasons that are fixed words, in squeue's spelling; those of limits
are made of parts, and parsed here. Source: src/common/job_state_reason.c and slurmctld's texts
in place of a reason (`state_desc`), of Slurm 24.11.5 and 26.05.3. scontrol writes
spaces as underscores.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[2] / "data" / "job_reasons.csv"
HELPS, NEVER, HELD, ENDED, UNKNOWN = "helps", "never", "held", "ended", "unknown"

_LIMIT = re.compile(
    r"(?P<whose>QOS|Assoc|Association)?(?P<span>Grp|Max|Min)?(?P<what>[A-Z]\w*?)"
    r"(?P<run>RunMin(?:ute)?s)?(?P<minutes>Minutes)?"
    r"(?P<per>PerJob|PerNode|PerUser|PerAccount)?(?P<limit>Limit|NotSatisfied)?"
)
_WHOSE = {"QOS": "its QOS {qos}", "Assoc": "its account {account}", None: "its QOS {qos}"}
_TAKEN = {"PerUser": "jobs of {user}", "PerAccount": "jobs of its account", "Grp": "other jobs"}


@dataclass(frozen=True)
class Reason:
    """A reason; `waiting` is one of the words above. Words in braces are facts of the job."""

    waiting: str
    says: str
    fix: str

    def of(self, facts: Mapping[str, str]) -> Reason:
        """Return the reason with the facts of a job filled in."""
        return Reason(self.waiting, self.says.format_map(facts), self.fix.format_map(facts))


def reason_of(text: str) -> Reason | None:
    """Return the meaning of a reason from squeue or scontrol; None for an unknown one."""
    words = text.replace("_", " ").strip("() ")
    exact = _table().get(words)
    if exact:
        return exact
    begins = (each for name, each in _table().items() if re.match(rf"{re.escape(name)}\b", words))
    return next(begins, None) or _limit(words)


@cache
def _table() -> Mapping[str, Reason]:
    with DATA.open(newline="") as rows:
        return {
            row["reason"]: Reason(row["waiting"], row["says"], row["fix"])
            for row in csv.DictReader(rows)
        }


def _limit(name: str) -> Reason | None:
    """Parse the name of a limit of a QOS or an association, such as QOSMaxCpuPerUserLimit."""
    found = _LIMIT.fullmatch(name)
    if not found or not (found["whose"] or found["per"]):
        return None
    whose = _WHOSE["Assoc" if found["whose"] == "Association" else found["whose"]]
    if found["per"] in ("PerJob", "PerNode") or found["span"] == "Min":
        return _never(name, whose, found)
    if found["minutes"] and not found["run"]:
        return Reason(
            UNKNOWN,
            f"{whose} has used up what it may use ({name})",
            "wait until its usage has decayed (PriorityDecayHalfLife), or let an administrator"
            " raise the limit in the YAML",
        )
    taken = _TAKEN.get(found["per"] or found["span"] or "", "other jobs")
    return Reason(
        HELPS,
        f"{taken} have all that {whose} may have at a time ({name})",
        "wait for these, or let an administrator raise the limit in the YAML; a job that asks for"
        " more than the whole limit waits forever",
    )


def _never(name: str, whose: str, found: re.Match[str]) -> Reason:
    if found["what"] == "WallDuration":
        return Reason(
            NEVER,
            f"it asks for {{time}}, and {whose} gives {{qos_time}}: waiting never helps",
            "give it less time on a login node: `scontrol update jobid=JOB timelimit={qos_time}`,"
            " or use another QOS",
        )
    more, over = ("less", "at least has") if found["span"] == "Min" else ("more", "may have")
    return Reason(
        NEVER,
        f"it asks for {more} than one job of {whose} {over} ({name}): waiting never helps",
        "cancel it, and submit one that keeps to `sacctmgr show qos` and `sacctmgr show"
        " associations user={user}`",
    )
