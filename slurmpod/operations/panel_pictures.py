"""Pictures of an environment's dashboards, from its Prometheus data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from slurmpod.metrics.panel import Dashboard, Panel
from slurmpod.metrics.picture import Series, dashboard_picture, panel_picture, series_name

HOURS = 1.0
POINTS = 240
"""The most points of a line."""


class Queries(Protocol):
    """Anything that answers a query over a period; see PrometheusQueries."""

    def range(
        self, query: str, begin: float, end: float, step_seconds: float
    ) -> Sequence[tuple[Mapping[str, str], Sequence[tuple[float, float]]]]:
        """Return labels and points of all series."""
        ...


def pictures(
    dashboards: Sequence[Dashboard], queries: Queries, *, now: float, scrape_seconds: int
) -> Iterator[tuple[str, str]]:
    """Yield the uid of each dashboard and a picture of its last hour; raises AwsUnavailable."""
    window = _Window(queries, now, scrape_seconds)
    for dashboard in dashboards:
        found = {panel.title: window.series(panel) for panel in dashboard.panels}
        yield dashboard.uid, dashboard_picture(dashboard, found)


@dataclass(frozen=True)
class PanelPicture:
    """A panel of a dashboard, by their titles, and its picture (SVG)."""

    dashboard: str
    title: str
    svg: str


def panels_with_data(
    dashboards: Sequence[Dashboard], queries: Queries, *, now: float, scrape_seconds: int
) -> tuple[PanelPicture, ...]:
    """Draw the last hour of each panel that has data; raises AwsUnavailable."""
    window = _Window(queries, now, scrape_seconds)
    drawn = []
    for dashboard in dashboards:
        for panel in dashboard.panels:
            series = window.series(panel)
            if any(each.points for each in series):
                picture = panel_picture(panel, series)
                drawn.append(PanelPicture(dashboard.title, panel.title, picture))
    return tuple(drawn)


class _Window:
    """The last hour of one Prometheus."""

    def __init__(self, queries: Queries, now: float, scrape_seconds: int) -> None:
        self._queries = queries
        self._end = now
        self._step = max(float(scrape_seconds), HOURS * 3600 / POINTS)
        self._rate_interval = f"{4 * scrape_seconds}s"
        """As in Grafana (its documentation, "Prometheus template variables")."""

    def series(self, panel: Panel) -> list[Series]:
        """Return a panel's series, of all nodes."""
        begin = self._end - HOURS * 3600
        found = []
        for legend, expression in panel.queries.items():
            asked = expression.replace("$__rate_interval", self._rate_interval)
            asked = asked.replace("$node", ".*")
            for labels, points in self._queries.range(asked, begin, self._end, self._step):
                found.append(Series(series_name(legend, labels), points))
        return sorted(found, key=lambda each: each.name)
