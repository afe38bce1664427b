"""The alerts of checks of idle nodes: a node fails a check, or the checks have stopped."""

from __future__ import annotations

from slurmpod.metrics.alerts import Alert

CHECK_ALERTS = (
    Alert(
        "IdleNodeFails",
        "warning",
        "max by (node, check) (slurmpod_check_failed) == 1",
        0,
        "{{ $labels.node }} fails a check of idle nodes: {{ $labels.check }}",
        "Look at 'slurmpod node check ENV {{ $labels.node }} --history'; repair or replace it.",
    ),
    Alert(
        "ChecksStopped",
        "warning",
        "time() - max(slurmpod_checks_round_timestamp_seconds) > 3600",
        10,
        "No round of checks of idle nodes has ended for an hour",
        "Look at 'journalctl -u slurmpod-checks' on the controller.",
    ),
)
