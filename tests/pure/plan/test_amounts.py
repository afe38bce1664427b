"""Formatting of amounts of money."""

from __future__ import annotations

from decimal import Decimal

import pytest

from slurmpod.plan.amounts import figures, month_of, per_month, sum_figures
from slurmpod.plan.costs import Certainty, Cost, Part, Sum


def cost(certainty: Certainty, usd: str | None) -> Cost:
    return Cost(Part.NODES, "workers", "1 x ml.m5.large", certainty, Decimal(usd) if usd else None)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Sum(Decimal("0.045"), is_least=False), "32.85 USD a month"),
        (Sum(Decimal("0.045"), is_least=True), "at least 32.85 USD a month"),
        (Sum(Decimal(2), is_least=False), "1,460.00 USD a month"),
        (Sum(Decimal("0.0001"), is_least=False), "0.073 USD a month"),
        (Sum(Decimal(0), is_least=False), "nothing"),
        (Sum(Decimal(0), is_least=True), "no resource with a known price"),
    ],
)
def test_a_sum_is_told_by_the_month_and_small_ones_are_seen(found: Sum, words: str) -> None:
    assert per_month(found) == words


@pytest.mark.parametrize(
    ("certainty", "usd", "by_hour", "by_month"),
    [
        (Certainty.EXACT, "0.5", "0.50", "365.00 USD a month"),
        (Certainty.AT_LEAST, "0.5", ">= 0.50", "at least 365.00 USD a month"),
        (Certainty.UNKNOWN, None, "unknown", "unknown"),
        (Certainty.BY_USE, None, "by use", "by use"),
    ],
)
def test_a_cost_says_how_well_it_is_known(
    certainty: Certainty, usd: str | None, by_hour: str, by_month: str
) -> None:
    assert figures(cost(certainty, usd))[0] == by_hour
    assert month_of(cost(certainty, usd)) == by_month


def test_all_three_figures_of_a_minimum_are_minima() -> None:
    assert sum_figures(Sum(Decimal("0.05"), is_least=True)) == (">= 0.050", ">= 1.20", ">= 36.50")
