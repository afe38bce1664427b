"""Programs on nodes cannot have the tool's own reader of Slurm's lines: both read alike."""

from __future__ import annotations

import pytest

from slurmpod.slurm.nodes import HELD, read_node
from slurmpod_health import node_state
from slurmpod_health.node_state import read_state
from tests.pure.slurm.test_nodes import LINE, STATES

REASONS = (
    "",
    " Reason=Not responding",
    " Reason= Action:Replace [now] [root@2026-01-03T10:00:00]",
    " Reason=limit mem=3 [alice@2026-01-03T10:00:00] Comment=of the rack",
)


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("state", [*STATES, "DOWN*+CLOUD"])
def test_a_node_is_read_alike(state: str, reason: str) -> None:
    line = LINE.format(state=state, reason=reason)
    here, there = read_node(line), read_state(line)
    assert here
    assert there
    assert (here.name, here.state, here.reason) == (there.name, there.words, there.reason)
    assert (here.since, here.started) == (there.since, there.started)
    assert here.is_held is not there.takes_jobs


def test_both_call_the_same_states_held() -> None:
    assert node_state.HELD == HELD


def test_a_line_that_shows_no_node_is_none() -> None:
    for line in ("", "Node ip-9 not found", "slurm_load_node error: no route"):
        assert read_node(line) is None
        assert read_state(line) is None
