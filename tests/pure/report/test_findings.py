"""Findings: those that the file accepts, and those that stacks of the environment may have."""

from __future__ import annotations

from slurmpod.reading.read import read_as
from slurmpod.report.findings import ACCEPTED_FILE, accepted_in, findings_of
from slurmpod.rules.check import sound
from tests.golden_files import assert_matches
from tests.pure.plan.planned import resolved
from tests.sound_environment import SOUND
from tools.accepted_findings import accepted_findings

ROWS = [
    {"rules": ["AwsSolutions-S1"], "stacks": ["access"], "reason": "records"},
    {"rules": ["*-LambdaDLQ"], "stacks": ["cluster-watch", "lifecycle"], "reason": "seen"},
]


def test_the_data_says_what_the_stacks_accept(update_golden: bool) -> None:
    assert_matches(ACCEPTED_FILE, accepted_findings(), update=update_golden)


def test_stacks_that_are_not_there_have_no_findings() -> None:
    (found,) = accepted_in(resolved(), ROWS)
    assert (found.rules, found.stacks, found.reason) == (("*-LambdaDLQ",), ("lifecycle",), "seen")


def test_what_the_file_accepts_stands_with_its_reason() -> None:
    accepting = SOUND + "suppress:\n  - {rule: NET-001, reason: our network team gave us this}\n"
    found = findings_of(sound(read_as("dev.yaml", accepting)))
    assert [(each.rule, each.reason) for each in found.suppressed] == [
        ("NET-001", "our network team gave us this")
    ]
    assert found.suppressed[0].title
