"""The `metrics` part of settings.json: what nodes need to know to send theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmpod.bundle.placeholders import REMOTE_WRITE_URL
from slurmpod.resolve import Resolved


def metrics_values(resolved: Resolved) -> Mapping[str, Any] | None:
    """Return it as plain data; None where no metrics are asked for."""
    prometheus = resolved.monitoring.prometheus if resolved.monitoring else None
    if prometheus is None:
        return None
    return {
        "remote_write_url": REMOTE_WRITE_URL,
        "scrape_seconds": prometheus.scrape_seconds,
        "may_install": not resolved.network.closed,
    }
