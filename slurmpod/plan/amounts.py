"""Formatting of amounts of money."""

from __future__ import annotations

from decimal import Decimal

from slurmpod.plan.costs import Certainty, Cost, Sum

MARK = ">= "
"""Mark of a lower bound."""


def figures(cost: Cost) -> tuple[str, str, str]:
    """Return a cost by hour, day and month; without a figure, its certainty."""
    if cost.usd_per_hour is None:
        return (cost.certainty, "", "")
    return sum_figures(Sum(cost.usd_per_hour, cost.certainty is Certainty.AT_LEAST))


def sum_figures(found: Sum) -> tuple[str, str, str]:
    """Return a sum by hour, day and month."""
    mark = MARK if found.is_least else ""
    return (
        f"{mark}{_money(found.usd_per_hour)}",
        f"{mark}{_money(found.usd_per_day)}",
        f"{mark}{_money(found.usd_per_month)}",
    )


def month_of(cost: Cost) -> str:
    """Return a cost by month; without a figure, its certainty."""
    if cost.usd_per_hour is None:
        return cost.certainty
    return per_month(Sum(cost.usd_per_hour, cost.certainty is Certainty.AT_LEAST))


def per_month(found: Sum) -> str:
    """Return a sum in words: `at least 32.85 USD a month`."""
    if not found.usd_per_hour:
        return "no resource with a known price" if found.is_least else "nothing"
    mark = "at least " if found.is_least else ""
    return f"{mark}{_money(found.usd_per_month)} USD a month"


def _money(usd: Decimal) -> str:
    """Format an amount with cents, and small ones with more digits."""
    return f"{usd:,.2f}" if usd == 0 or usd >= Decimal("0.1") else f"{usd:.3f}"
