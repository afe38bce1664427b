"""Nodes as Slurm's commands show them: whichever was asked, they are judged alike."""

from __future__ import annotations

import pytest

from slurmpod.environment.cluster import Role
from slurmpod.operations.why.node_now import read_node_now
from slurmpod.slurm.nodes import SlurmNode, read_node, read_nodes, read_sinfo, sinfo
from tests.pure.operations.cluster_at_work import NOW

LINE = (
    "NodeName=ip-1 Arch=x86_64 CPUAlloc=0 Gres=gpu:h100:8(S:0-1) NodeAddr=10.0.0.1 State={state} "
    "ThreadsPerCore=1 BootTime=2026-01-01T00:00:01 SlurmdStartTime=2026-01-01T00:00:09 "
    "ResumeAfterTime=None{reason}"
)
STATES = {
    "IDLE+CLOUD": ("idle", True),
    "MIXED+CLOUD": ("mixed", True),
    "ALLOCATED+CLOUD+REBOOT_REQUESTED": ("allocated@", True),
    "IDLE+CLOUD+PLANNED": ("planned", True),
    "IDLE+CLOUD+POWERED_DOWN": ("idle~", True),
    "IDLE+CLOUD+NOT_RESPONDING": ("idle*", False),
    "IDLE+CLOUD+DRAIN": ("drained", False),
    "MIXED+CLOUD+DRAIN": ("draining", False),
    "DOWN+CLOUD+NOT_RESPONDING": ("down*", False),
    "DOWN+CLOUD+DRAIN": ("drained", False),
    "ALLOCATED+CLOUD+FAIL": ("failing", False),
    "IDLE+CLOUD+MAINTENANCE+RESERVED": ("maint", False),
    "IDLE+CLOUD+REBOOT_ISSUED": ("reboot^", False),
    "IDLE+CLOUD+INVALID_REG": ("inval", False),
    "FUTURE+CLOUD": ("future", False),
    "UNKNOWN+CLOUD": ("unknown", False),
}
"""How scontrol and sinfo write a state (slurm_protocol_defs.c), and whether jobs start there."""


def shown(state: str = "IDLE", reason: str = "") -> SlurmNode:
    node = read_node(LINE.format(state=state, reason=f" Reason={reason}" if reason else ""))
    assert node
    return node


@pytest.mark.parametrize(("state", "word", "takes_jobs"), [(s, *w) for s, w in STATES.items()])
def test_scontrol_sinfo_and_why_agree_on_a_state(state: str, word: str, takes_jobs: bool) -> None:
    by_scontrol = shown(state)
    (by_sinfo,) = read_sinfo(f"ip-1|{word}|{state.lower()}|x|x|none|\n").values()
    assert by_scontrol.state == by_sinfo.state
    assert by_scontrol.takes_jobs is by_sinfo.takes_jobs is takes_jobs
    assert (by_sinfo.word, by_sinfo.reason) == (word, "")
    now = read_node_now("ip-1", Role.WORKER, None, {"state": LINE.format(state=state, reason="")},
                        {}, NOW)  # fmt: skip
    assert now.is_out is by_scontrol.is_out
    assert not (by_scontrol.takes_jobs and now.is_out)


def test_a_star_means_that_a_node_does_not_answer() -> None:
    assert shown("DOWN*+CLOUD").state == shown("DOWN+CLOUD+NOT_RESPONDING").state
    assert not shown("IDLE*").answers


def test_a_reason_has_who_gave_it_and_when() -> None:
    node = shown("IDLE+DRAIN", "bad cable [alice@2026-01-03T10:00:00]")
    assert (node.reason, node.who, node.since) == ("bad cable", "alice", "2026-01-03T10:00:00")


@pytest.mark.parametrize(
    "reason", [" Action:Replace [now]", "limit is mem=3 now", "gres/gpu count (0 < 8) : a=b c=d"]
)
def test_a_reason_is_read_as_it_was_given(reason: str) -> None:
    comment = " Comment=of the rack"
    node = shown("DOWN", f"{reason} [root@2026-01-03T10:00:00]{comment}")
    assert (node.reason, node.who) == (reason, "root")
    (listed,) = read_sinfo(f"ip-1|down|down|root|x|{reason}|\n").values()
    assert listed.reason == reason


def test_a_reason_without_an_author_is_read() -> None:
    assert (shown("DOWN", "Not responding").reason, shown("DOWN").reason) == ("Not responding", "")


def test_accelerators_and_the_start_of_slurmd_are_read() -> None:
    assert (shown().gpus, shown().started) == (8, "2026-01-01T00:00:09")


def test_lines_of_sinfo_stand_for_all_nodes_that_are_alike() -> None:
    printed = "ip-[1-2,7]|drained|idle+drain|bob|2026-01-03|a | b|\nslurm_load_node: no route\n"
    nodes = read_sinfo(printed)
    assert list(nodes) == ["ip-1", "ip-2", "ip-7"]
    assert nodes["ip-7"] == SlurmNode(
        "ip-7", frozenset({"IDLE", "DRAIN"}), "a | b", who="bob", since="2026-01-03", word="drained"
    )


def test_sinfo_is_asked_for_what_is_read() -> None:
    _, _, columns = sinfo().partition("--Format=")
    assert columns == "'NodeList:|,StateLong:|,StateComplete:|,User:|,TimeStamp:|,Reason:|'"


def test_lines_of_scontrol_that_show_no_node_say_nothing() -> None:
    others = "Node ip-9 not found\nPartitionName=dev AllowGroups=ALL State=UP TotalNodes=2\n"
    assert list(read_nodes(others + LINE.format(state="IDLE", reason=""))) == ["ip-1"]
