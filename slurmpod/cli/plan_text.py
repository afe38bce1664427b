"""A plan as text for people, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from decimal import Decimal
from itertools import groupby
from typing import Any

from slurmpod.permissions.rights import Right
from slurmpod.plan.amounts import figures, month_of, per_month, sum_figures
from slurmpod.plan.costs import HOURS_OF_A_DAY, HOURS_OF_A_MONTH, Cost, Sum
from slurmpod.plan.plan import Plan, Room
from slurmpod.problems import first_of

ACTIONS_SHOWN = 2
COLUMNS = ("USD/hour", "USD/day", "USD/month")


def plan_text(plan: Plan, rights: Sequence[Right] = ()) -> str:
    """Return the plan in sections: costs, what stays, addresses, rights, and the deployment."""
    sections = [_costs(plan), _after(plan), _rooms(plan.rooms), _steps(plan)]
    if rights:
        sections.insert(-1, _rights(rights))
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain data: prices as decimal texts, unknown ones as null."""
    return {
        "name": plan.name,
        "account": plan.account,
        "region": plan.region,
        "costs": [_cost_data(each) for each in plan.costs],
        "total": _sum_data(plan.total),
        "without_cluster": _sum_data(plan.without_cluster),
        "after_destroy": _sum_data(plan.after_destroy),
        "addresses": [asdict(room) for room in plan.rooms],
        "deployment": [
            {"stack": each.stack, "minutes": each.usually and list(each.usually.minutes)}
            for each in plan.steps
        ],
        "price_sources": [asdict(each) for each in plan.sources],
    }


def rights_data(rights: Sequence[Right]) -> list[dict[str, Any]]:
    """Return the rights of users as plain data."""
    return [{"nodes": each.nodes, "actions": list(each.actions), "on": each.on} for each in rights]


def _costs(plan: Plan) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("", "", *COLUMNS)]
    part = None
    for cost in plan.costs:
        if cost.part != part:
            rows.append((cost.part, "", "", "", ""))
            part = cost.part
        rows.append((f"  {cost.name}", cost.what, *figures(cost)))
    rows.append(("known total", "", *sum_figures(plan.total)))
    yield f"{plan.name}: resources and cost in account {plan.account}, {plan.region}"
    yield ""
    yield from _table(rows)
    yield ""
    for note in dict.fromkeys(cost.note for cost in plan.costs if cost.note):
        names = ", ".join(cost.name for cost in plan.costs if cost.note == note)
        yield f"{names}: {note}"
    yield f"A month has {HOURS_OF_A_MONTH} hours. Without taxes, discounts and data transfer."
    for source in plan.sources:
        yield f"prices of {source.as_of}: {source.text}"


def _after(plan: Plan) -> Iterator[str]:
    """Yield the costs that remain when stacks are destroyed."""
    stack = plan.cluster_stack
    yield f"After the stack {stack} is destroyed, everything but the nodes is still billed:"
    yield f"  {per_month(plan.without_cluster)}"
    yield "Still billed after `slurmpod destroy`, until you delete it:"
    yield from what_stays(plan)


def what_stays(plan: Plan) -> Iterator[str]:
    """Yield, line by line, the resources that outlive all stacks, and their cost."""
    for cost in plan.costs:
        if cost.stays:
            yield f"  {cost.name} ({cost.what}): {month_of(cost)}"
    if not any(cost.stays for cost in plan.costs):
        yield "  nothing"


def _rooms(rooms: Sequence[Room]) -> Iterator[str]:
    yield "IP addresses of the nodes' subnets"
    for room in rooms:
        where = f"  {room.zone} {room.cidr or ''}".rstrip()
        if room.usable is None:
            yield f"{where}: {room.taken} taken; the size of the subnet is not known here"
            continue
        more = ", or ".join(f"{count} of {name}" for name, count in room.more_nodes.items())
        taken = f"{where}: {room.taken} of {room.usable} taken"
        yield f"{taken}; room for more nodes: {more}" if more else taken
        if room.uncounted:
            groups = ", ".join(room.uncounted)
            yield f"    nodes of {groups}, of unknown types, may take more than one"


def _rights(rights: Sequence[Right]) -> Iterator[str]:
    """Yield the rights of any program on a node, by the nodes of each role."""
    yield "What every user of a node can do with its role"
    for nodes, rows in groupby(rights, key=lambda each: each.nodes):
        yield f"  on nodes of {nodes}"
        shown = [(first_of(each.actions, ACTIONS_SHOWN), each.on.replace("`", "")) for each in rows]
        width = max(len(actions) for actions, _ in shown)
        yield from (f"    {actions:<{width}}  {on}" for actions, on in shown)


def _steps(plan: Plan) -> Iterator[str]:
    yield "First deployment: order and expected time"
    for step in plan.steps:
        usually = (
            f"{step.usually}: {step.usually.source}" if step.usually else "no published figure"
        )
        yield f"  {step.stack}: {usually}"
    yield f"  all: {plan.whole}: {plan.whole.source}"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Align the first two columns to the left, and figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        texts = [f"{cell:<{width}}" for cell, width in zip(row[:2], widths[:2], strict=True)]
        figures = [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
        yield "  ".join([*texts, *figures]).rstrip()


def _cost_data(cost: Cost) -> dict[str, Any]:
    month = cost.usd_per_hour and cost.usd_per_hour * HOURS_OF_A_MONTH
    day = cost.usd_per_hour and cost.usd_per_hour * HOURS_OF_A_DAY
    return {
        "part": cost.part,
        "name": cost.name,
        "what": cost.what,
        "certainty": cost.certainty,
        "usd_per_hour": _plain(cost.usd_per_hour),
        "usd_per_day": _plain(day),
        "usd_per_month": _plain(month),
        "stays": cost.stays,
        "note": cost.note,
        "price_source": cost.price.source.name if cost.price else None,
    }


def _sum_data(found: Sum) -> dict[str, Any]:
    return {
        "usd_per_hour": _plain(found.usd_per_hour),
        "usd_per_day": _plain(found.usd_per_day),
        "usd_per_month": _plain(found.usd_per_month),
        "is_least": found.is_least,
    }


def _plain(usd: Decimal | None) -> str | None:
    return None if usd is None else f"{usd:.4f}"
