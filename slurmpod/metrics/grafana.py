"""Dashboards as JSON for Grafana; the only module that uses its foundation SDK."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import ascii_uppercase

from grafana_foundation_sdk.builders import common, prometheus, stat, timeseries
from grafana_foundation_sdk.builders import dashboard as grafana
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import DataSourceRef, GridPos, VariableRefresh

from slurmpod.metrics.panel import Dashboard, Form, Panel

DATA_SOURCE = DataSourceRef(type_val="prometheus", uid="slurmpod-prometheus")
COLUMNS = 24
"""The width of a dashboard, in Grafana's grid units."""

SIZES = {Form.NUMBER: (6, 4), Form.GRAPH: (12, 8), Form.STACK: (12, 8)}
"""Widths and heights of panels."""

STACK_OPACITY = 30


def dashboard_json(dashboard: Dashboard, environment: str) -> str:
    """Return the dashboard as JSON; the same dashboard gives the same text."""
    page = (
        grafana.Dashboard(f"{environment}: {dashboard.title}")
        .uid(dashboard.uid)
        .description(dashboard.description)
        .tags(["slurmpod", environment])
        .refresh("1m")
        .time("now-6h", "now")
        .timezone("browser")
        .readonly()
        .with_variable(_node_variable())
    )
    for panel, place in zip(dashboard.panels, _places(dashboard.panels), strict=True):
        page.with_panel(_panel(panel).grid_pos(place))
    return JSONEncoder(sort_keys=True, indent=2).encode(page.build()) + "\n"


def _node_variable() -> grafana.QueryVariable:
    return (
        grafana.QueryVariable("node")
        .label("Node")
        .datasource(DATA_SOURCE)
        .query('label_values(up{job="node"}, node)')
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .multi(True)  # the SDK's signature
        .include_all(True)
        .all_value(".*")
    )


def _places(panels: Iterable[Panel]) -> Iterator[GridPos]:
    """Yield a place for each panel, row by row: numbers take a quarter, graphs half the width."""
    x = y = row_height = 0
    for panel in panels:
        width, height = SIZES[panel.form]
        if x + width > COLUMNS:
            x, y, row_height = 0, y + row_height, 0
        yield GridPos(h=height, w=width, x=x, y=y)
        x, row_height = x + width, max(row_height, height)


def _panel(panel: Panel) -> stat.Panel | timeseries.Panel:
    made: stat.Panel | timeseries.Panel
    made = stat.Panel() if panel.form is Form.NUMBER else _graph(panel)
    made.title(panel.title).datasource(DATA_SOURCE).unit(panel.unit)
    if panel.maximum is not None:
        made.min(0).max(panel.maximum)
    for ref_id, (legend, expression) in zip(ascii_uppercase, panel.queries.items(), strict=False):
        query = prometheus.Dataquery().expr(expression).legend_format(legend)
        made.with_target(query.ref_id(ref_id))
    return made


def _graph(panel: Panel) -> timeseries.Panel:
    graph = timeseries.Panel()
    if panel.form is Form.STACK:
        graph.stacking(common.StackingConfig().mode(StackingMode.NORMAL))
        graph.fill_opacity(STACK_OPACITY)
    return graph
