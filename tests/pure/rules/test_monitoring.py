"""Rules about monitoring, beyond their cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from slurmpod.environment.base import NOTHING
from slurmpod.environment.monitoring import Notify, Subscribers
from slurmpod.reading.read import read_as
from slurmpod.resolve import resolve
from slurmpod.rules.areas import rule_by_id
from tests.sound_environment import SOUND

WATCHED = f"{SOUND}\nmonitoring: {{}}\n"


class QuietAtNight(Notify):
    """What the section could hold beside severities."""

    quiet_hours: Annotated[tuple[str, ...], NOTHING] = ("22:00", "22:00")


def test_only_severities_have_subscribers() -> None:
    resolved = resolve(read_as("e.yaml", WATCHED))
    assert resolved.monitoring
    twice = Subscribers(emails=("a@example.com", "A@example.com"))
    notify = QuietAtNight(warning=twice)
    watched = resolved.monitoring.model_copy(update={"notify": notify})
    rule = rule_by_id("MON-002")
    assert rule
    assert rule.check
    findings = rule.check(replace(resolved, monitoring=watched))
    assert [each.path for each in findings] == [("monitoring", "notify", "warning", "emails", 1)]
