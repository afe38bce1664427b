"""The panels of checks of idle nodes: failures, repeated failures and measurements.

Two controllers may have seen the same nodes; the higher number is shown.
"""

from __future__ import annotations

from slurmpod.metrics.panel import Form, Panel, Subject

SINCE = 'time() - max by (node) (slurmpod_check_timestamp_seconds{node=~"$node"})'
MEASURED = 'max by (node, measured) (slurmpod_check_bytes_per_second{node=~"$node"})'
LATENCY = 'max by (node, measured) (slurmpod_check_latency_seconds{node=~"$node"})'

CHECK_PANELS = (
    Panel(
        "Checks of idle nodes that fail",
        {"{{node}} {{check}}": 'max by (node, check) (slurmpod_check_failed{node=~"$node"})'},
        form=Form.STACK,
        subject=Subject.CONTROLLER,
        may_be_empty=True,
    ),
    Panel(
        "Faults of nodes in their last 30 checks",
        {"{{node}}": 'max by (node) (slurmpod_check_faults{node=~"$node"}) > 0'},
        form=Form.STACK,
        subject=Subject.CONTROLLER,
        may_be_empty=True,
    ),
    Panel(
        "Time since the last check while idle",
        {"{{node}}": SINCE},
        unit="s",
        subject=Subject.CONTROLLER,
        may_be_empty=True,
    ),
    Panel(
        "What the last check of each node measured",
        {"{{node}} {{measured}}": MEASURED},
        unit="Bps",
        subject=Subject.CONTROLLER,
        may_be_empty=True,
    ),
    Panel(
        "Latency of EFA in the last check of each node",
        {"{{node}} {{measured}}": LATENCY},
        unit="s",
        subject=Subject.CONTROLLER,
        may_be_empty=True,
    ),
)
