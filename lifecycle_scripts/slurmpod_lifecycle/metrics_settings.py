"""The `metrics` part of settings.json: where metrics go, and how often."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metrics:
    """Where a node sends its metrics; `may_install` if it may fetch packages that it lacks."""

    remote_write_url: str
    scrape_seconds: int
    may_install: bool
