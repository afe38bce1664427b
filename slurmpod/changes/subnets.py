"""Subnets that would move because of what was changed elsewhere: another zone, another block.

Ranges that are not written are computed, and a subnet in use cannot get another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.changes.effect import NETWORK_AGAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.changes.effect import Effect
    from slurmpod.resolve import ResolvedNetwork


def moved_subnets(
    old: ResolvedNetwork, new: ResolvedNetwork
) -> Iterator[tuple[str, str, str, Effect]]:
    """Yield zone, old range, new range and effect of every private subnet that would move."""
    for subnet in old.private:
        now = new.private_in(subnet.zone)
        if now and now.cidr != subnet.cidr and not new.existing and not old.existing:
            yield subnet.zone, str(subnet.cidr), str(now.cidr), NETWORK_AGAIN
