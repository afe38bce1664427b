"""Addresses of people: what is none is refused where it stands."""

from __future__ import annotations

import pytest

from slurmpod.reading.read import read_as
from tests.sound_environment import SOUND


def problems(section: str) -> list[tuple[str, str]]:
    loaded = read_as("environment.yaml", SOUND + section)
    return [(problem.rule, problem.where.path) for problem in loaded.problems]


@pytest.mark.parametrize(
    "address",
    [
        "oncall@example.com",
        "first.last+gpu@sub.example-corp.co.uk",
        "o'hara_1@x9.io",
    ],
)
def test_an_address_is_taken(address: str) -> None:
    assert problems(f'monitoring: {{notify: {{critical: {{emails: ["{address}"]}}}}}}\n') == []


@pytest.mark.parametrize(
    "address",
    [
        "oncall",
        "@example.com",
        "oncall@",
        "oncall@localhost",
        "on call@example.com",
        "oncall@example..com",
        "oncall@-example.com",
        "a@b@example.com",
        "oncall@example.com, boss@example.com",
        "Team <oncall@example.com>",
        "",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    monitoring = f'monitoring: {{notify: {{critical: {{emails: ["{address}"]}}}}}}\n'
    budget = f'budget: {{monthly_usd: 1, emails: ["{address}"]}}\n'
    ((_, place),) = problems(monitoring)
    assert place == "monitoring.notify.critical.emails[0]"
    ((_, place),) = problems(budget)
    assert place == "budget.emails[0]"


@pytest.mark.parametrize(
    "url", ["http://alerts.example.com", "alerts.example.com", "https://a b", "https://"]
)
def test_what_is_no_web_address_with_tls_is_refused(url: str) -> None:
    ((_, place),) = problems(f'monitoring: {{notify: {{info: {{https: ["{url}"]}}}}}}\n')
    assert place == "monitoring.notify.info.https[0]"


def test_a_budget_needs_somebody_to_tell() -> None:
    assert problems("budget: {monthly_usd: 1000}\n") != []
    assert problems("budget: {monthly_usd: 1000, emails: []}\n") != []
