"""Panels of dashboards, independent of Grafana: their queries, and the nodes with the metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Subject(Enum):
    """The hardware or software that a node needs for a panel to have data."""

    EVERY_NODE = "every node"
    CONTROLLER = "controller"
    GPU = "GPU"
    NEURON = "Neuron"
    EFA = "EFA"
    LUSTRE = "Lustre client"


class Form(Enum):
    """The form of a panel: values over time, or only the current ones."""

    GRAPH = "graph"
    STACK = "stack"
    NUMBER = "number"


@dataclass(frozen=True)
class Panel:
    """One panel; `unit` is Grafana's name for it. `maximum` is the end of the scale, if known.

    `queries` are PromQL expressions by legend; a legend names series by their labels, as
    `{{label}}`. `$node` is replaced by the nodes that the reader chose, `$__rate_interval` by a
    time long enough for several samples of a counter.

    `may_be_empty` is true if a healthy cluster may have no such series: errors, waiting jobs.
    """

    title: str
    queries: Mapping[str, str]
    unit: str = "short"
    form: Form = Form.GRAPH
    subject: Subject = Subject.EVERY_NODE
    maximum: float | None = None
    may_be_empty: bool = False


@dataclass(frozen=True)
class Dashboard:
    """A page of panels; `uid` is its name in links."""

    uid: str
    title: str
    description: str
    panels: tuple[Panel, ...]
