"""Panels of dashboards, before they are Grafana's: queries, and who has the metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Subject(Enum):
    """The thing that a node must have for a panel to show something."""

    EVERY_NODE = "every node"
    CONTROLLER = "controller"
    GPU = "GPU"
    NEURON = "Neuron"
    EFA = "EFA"
    LUSTRE = "Lustre client"


class Form(Enum):
    """The form in which a panel shows its values: as they went, or only as they are."""

    GRAPH = "graph"
    STACK = "stack"
    NUMBER = "number"


@dataclass(frozen=True)
class Panel:
    """One panel; `unit` is Grafana's name for it. `maximum` is the end of the scale, if known.

    `queries` are expressions in PromQL by their legends, which name series by their labels, as
    `{{label}}`. `$node` stands for the nodes that the reader chose, `$__rate_interval` for a time
    in which a counter has surely been seen several times.

    `may_be_empty` says that a sound cluster has no such series: errors, jobs that wait.
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
