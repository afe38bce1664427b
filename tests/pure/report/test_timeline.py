"""Timelines: what is on the critical path, what has a bar, and which deployment was the last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod.report.timeline import CLUSTER, Timeline, node_runs, timeline_of
from tests.pure.report.known import LAUNCHED, NODES, RUNS, at, report, resource, stack


def timeline(*runs: object, now: float = 1000) -> Timeline:
    found = timeline_of(runs or RUNS, node_runs(NODES, LAUNCHED), at(now))  # type: ignore[arg-type]
    assert found
    return found


def test_it_lasts_from_the_first_stack_to_the_end_of_the_last() -> None:
    found = timeline()
    assert (found.began, found.seconds) == (at(0), 370)
    assert found.ticks == (0, 120, 240, 360)


def test_stacks_resources_and_nodes_have_bars() -> None:
    bars = [(bar.kind, bar.name, bar.began, bar.seconds) for bar in timeline().bars]
    assert bars == [
        ("stack", "dev-network", 0, 60),
        ("resource", "Vpc", 0, 40),
        ("resource", "Endpoint", 40, 20),
        ("stack", "dev-cluster", 70, 300),
        ("resource", "Cluster", 70, 300),
        ("node", "ip-10-0-0-4", 80, 120),
        ("node", "ip-10-0-1-1", 80, 280),
    ]


def test_the_last_node_is_critical_and_its_scripts_are_told_from_its_start() -> None:
    nodes = [bar for bar in timeline().bars if bar.kind == "node"]
    assert [bar.is_critical for bar in nodes] == [False, True]
    assert [bar.first_seconds for bar in nodes] == [100, 190]


def test_the_critical_path_leads_through_the_slowest_node_and_is_the_whole_time() -> None:
    links = [(link.place, link.what, link.seconds) for link in timeline().links]
    assert links == [
        ("dev-network", "Vpc", 40),
        ("dev-network", "Endpoint", 20),
        ("ip-10-0-1-1", "start-up", 190),
        ("ip-10-0-1-1", "step slurmd", 89),
        ("", "everything shorter", 21),
        ("", "between stacks", 10),
    ]
    assert sum(seconds for *_, seconds in links) == 370


def test_what_nothing_waited_for_is_not_critical() -> None:
    beside = stack("dev-x", 0, 100, resource("Long", 0, 100), resource("Beside", 10, 90))
    critical = {bar.name: bar.is_critical for bar in timeline(beside).bars}
    assert critical == {"dev-x": True, "Long": True, "Beside": False}


def test_short_resources_are_counted_and_failed_ones_shown() -> None:
    many = [resource(f"R{n}", n / 10, n / 10 + 0.1) for n in range(5)]
    failed = resource("Broken", 99, 99.1, reason="no capacity")
    found = timeline(stack("dev-x", 0, 100, resource("Long", 0, 98), *many, failed))
    assert found.short == 5
    assert [bar.failure for bar in found.bars if bar.name == "Broken"] == ["no capacity"]


def test_what_still_goes_on_ends_now() -> None:
    going = stack("dev-x", 0, None, resource("Cluster", 10, None, type=CLUSTER))
    found = timeline(going, now=50)
    assert (found.seconds, [bar.seconds for bar in found.bars]) == (50, [50, 40])


def test_stacks_that_were_not_touched_are_named() -> None:
    old = stack("dev-network", -7200, -7100, resource("Vpc", -7200, -7100))
    found = timeline(old, RUNS[1])
    assert [run.stack for run in found.earlier] == ["dev-network"]
    assert found.began == at(70)


def test_nodes_that_came_later_belong_to_no_deployment() -> None:
    late = node_runs([report("ip-10-0-1-2", 5000)], {"i-ip-10-0-1-2": at(4900)})
    found = timeline_of(RUNS, late, at(6000))
    assert found
    assert not [bar for bar in found.bars if bar.kind == "node"]


def test_of_many_nodes_the_failed_one_and_the_slowest_are_shown() -> None:
    reports = [report(f"ip-10-0-2-{n}", 200 + n) for n in range(60)]
    reports[3] = replace(reports[3], succeeded=False, summary="step slurmd failed")
    nodes = node_runs(reports, {each.instance_id: at(80) for each in reports})
    found = timeline_of(RUNS, nodes, at(1000))
    assert found
    shown = {bar.name: bar.failure for bar in found.bars if bar.kind == "node"}
    assert (len(shown), found.other_nodes) == (12, 48)
    assert shown["ip-10-0-2-3"] == "step slurmd failed"
    assert "ip-10-0-2-59" in shown


def test_without_stacks_there_is_none() -> None:
    assert timeline_of((), (), at(0)) is None


@pytest.mark.parametrize(("seconds", "last"), [(0.8, 0.5), (19, 15), (300, 300), (5400, 5400)])
def test_ticks_are_round_and_few(seconds: float, last: float) -> None:
    ticks = timeline(stack("dev-x", 0, seconds)).ticks
    assert ticks[-1] == last
    assert len(ticks) <= 7
