"""The alerts of checks of idle nodes: somebody's hardware is bad, or nobody looks any more."""

from __future__ import annotations

from slurmpod.metrics.alerts import Alert

CHECK_ALERTS = (
    Alert(
        "IdleNodeFails",
        "warning",
        "max by (node, check) (slurmpod_check_failed) == 1",
        0,
        "{{ $labels.node }} fails a check of idle nodes: {{ $labels.check }}",
        "Look at 'slurmpod node check ENV {{ $labels.node }} --history'; mend or replace the node.",
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
