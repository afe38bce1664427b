"""Reports of faults and drills, as text and as JSON data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from rich.console import Console

from slurmpod.rehearsal.drills.drill import DrillReport
from slurmpod.rehearsal.faults.fault import FaultReport
from slurmpod.rehearsal.faults.watch import Moment
from slurmpod.rehearsal.tables import print_table, print_text

MOST_STEPS_NAMED = 5


def drill_data(report: DrillReport) -> dict[str, object]:
    """Return the effect of a fault on a user's job, for `--json`."""
    return {
        **asdict(report),
        "is_sound": report.is_sound,
        "moments": _moments_data(report.moments),
    }


def print_faults(console: Console, reports: Iterable[FaultReport]) -> None:
    """Print the effect of each fault; recovery times count from when its cause was removed."""
    rows = []
    for report in reports:
        noticed = report.noticed_seconds
        rows.append(
            (
                report.name,
                "never" if noticed is None else f"{noticed:.1f} s",
                f"{report.recovered_seconds:.1f} s",
                ", ".join(report.lost) or "nothing",
                report.moments[-1].what,
            )
        )
    print_table(console, "Faults", ("FAULT", "NOTICED", "RECOVERED", "LOST", "OUTCOME"), rows)


def print_drills(console: Console, reports: Iterable[DrillReport]) -> None:
    """Print, for each job under a fault, when it ended, what it lost, and its losses."""
    for report in reports:
        print_text(console, f"Job {report.job} under {report.fault}", "\n".join(_lines(report)))


def _lines(report: DrillReport) -> Iterator[str]:
    before = report.undisturbed_seconds
    undisturbed = "" if before is None else f", {before:.1f} s undisturbed"
    yield (
        f"ended as {report.state} {report.ended_seconds:.1f} s after the fault"
        f" ({report.seconds:.1f} s in all{undisturbed})"
    )
    yield f"restarts: {report.restarts} of the job, {report.step_restarts} of steps in it"
    yield f"repeated work: {_again(report)}"
    yield f"losses: {_losses(report)}"


def _again(report: DrillReport) -> str:
    if not report.steps:
        return "unknown; the log has no lines with a step and a loss"
    if not report.resumed_after:
        return f"none of {report.steps} steps"
    times = ", then ".join(f"after step {step}" for step in report.resumed_after)
    return f"{report.steps_again} of {report.steps} steps; resumed {times}"


def _losses(report: DrillReport) -> str:
    if not report.steps:
        return "none in the log"
    if report.contradictory:
        return f"differ when repeated: {_named(report.contradictory)}"
    if report.differing:
        return f"differ from the undisturbed run: {_named(report.differing)}"
    if report.differing is None:
        again = "; repeated steps have the same losses" if report.steps_again else ""
        return f"no undisturbed run to compare them with{again}"
    return f"same as in the undisturbed run, in all {report.steps} steps"


def _named(steps: Sequence[int]) -> str:
    named = ", ".join(map(str, steps[:MOST_STEPS_NAMED]))
    more = len(steps) - MOST_STEPS_NAMED
    return f"step {named}" + (f" and {more} more" if more > 0 else "")


def _moments_data(moments: Iterable[Moment]) -> list[dict[str, object]]:
    return [
        {"seconds": each.seconds, "stage": each.stage.value, "what": each.what} for each in moments
    ]
