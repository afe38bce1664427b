"""What the exporter tells of checks of idle nodes, from the file that they leave."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from slurmpod.metrics.check_panels import CHECK_PANELS
from slurmpod.operations import idle_checks
from slurmpod_checks import records, settings
from slurmpod_checks.accelerators import NEURON_NUMBER
from slurmpod_checks.collectives import ALL_REDUCE, RING_ALL_REDUCE
from slurmpod_checks.latency import EFA_LATENCY, EFA_RATE
from slurmpod_checks.pair import PAIR
from slurmpod_checks.records import NodeRecord, Result, State
from slurmpod_exporter.collector import CollectorFailed
from slurmpod_exporter.collectors.idle_checks import (
    FRESH_SECONDS,
    IDLE_CHECKS,
    RESULTS,
    RING,
    SETTINGS,
)
from slurmpod_health.finding import Finding, Verdict
from slurmpod_lifecycle.dataclass_json import to_json
from tests.pure.exporter.fake_host import NOW, FakeHost, found

FAULT = Finding("scratch", Verdict.BAD, "read-only")
ODD = Finding("accelerators", Verdict.REPORTED, "no dcgmi")
ROUND = "slurmpod_checks_round_timestamp_seconds{}"
FAILED = "slurmpod_check_failed{node=n1,check=scratch}"


def result(
    at: int, *findings: Finding, partner: str = "", numbers: Mapping[str, float] | None = None
) -> Result:
    return Result(at, "i-1", "p5", partner, findings, numbers or {}, is_told=True)


def controller(*results: Result, at: float = NOW) -> FakeHost:
    host = FakeHost(is_controller=True)
    nodes = {"n1": NodeRecord("gpu", results), "n2": NodeRecord("gpu")}
    state = State(nodes=nodes, at=int(at))
    host.files = {SETTINGS: "{}", RESULTS: json.dumps(to_json(state))}
    return host


def test_it_reads_the_files_that_the_checks_write() -> None:
    assert f"{records.FOLDER}/{records.FILE}" == RESULTS
    assert str(settings.PATH) == SETTINGS
    assert RING == records.RING_OF == idle_checks.RING
    (title,) = (each.title for each in CHECK_PANELS if "Faults" in each.title)
    assert f"last {records.MOST_RESULTS} checks" in title


def test_faults_of_the_newest_results_are_told_and_how_many_there_were() -> None:
    results = (result(1, FAULT), result(7, ODD), result(5, FAULT, partner="n2"))
    assert found(IDLE_CHECKS, controller(*results)) == {
        ROUND: NOW,
        "slurmpod_check_faults{node=n1}": 2,
        "slurmpod_check_timestamp_seconds{node=n1}": 7,
        FAILED: 1,
    }
    mended = found(IDLE_CHECKS, controller(*results, result(8, partner="n2")))
    assert FAILED not in mended
    assert mended["slurmpod_check_faults{node=n1}"] == 2


def test_what_was_measured_is_told_in_bytes() -> None:
    alone = result(1, numbers={"/fsx write MiB/s": 2, NEURON_NUMBER: 0.5})
    pair = result(2, partner="n2", numbers={PAIR: 1.5, ALL_REDUCE: 80, EFA_RATE: 2614.2})
    ring = result(3, partner="ring of 3", numbers={RING_ALL_REDUCE: 40})
    samples = found(IDLE_CHECKS, controller(alone, ring, pair))
    measured = {name: value for name, value in samples.items() if "per_second" in name}
    assert measured == {
        "slurmpod_check_bytes_per_second{node=n1,measured=/fsx write}": 2 * 1024 * 1024,
        "slurmpod_check_bytes_per_second{node=n1,measured=neuron all-reduce}": 5e8,
        "slurmpod_check_bytes_per_second{node=n1,measured=pair}": 1.5 * 1024 * 1024,
        "slurmpod_check_bytes_per_second{node=n1,measured=pair all-reduce}": 8e10,
        "slurmpod_check_bytes_per_second{node=n1,measured=efa}": 2.6142e9,
        "slurmpod_check_bytes_per_second{node=n1,measured=ring all-reduce}": 4e10,
    }


def test_a_latency_is_told_in_seconds() -> None:
    samples = found(IDLE_CHECKS, controller(result(2, partner="n2", numbers={EFA_LATENCY: 17.4})))
    name = "slurmpod_check_latency_seconds{node=n1,measured=efa message}"
    assert samples[name] == pytest.approx(17.4e-6)


def test_a_controller_that_makes_no_rounds_any_more_tells_only_that() -> None:
    """What it knows may have been mended since, as another controller has seen."""
    long_ago = NOW - FRESH_SECONDS
    assert found(IDLE_CHECKS, controller(result(1, FAULT), at=long_ago)) == {ROUND: long_ago}


def test_where_the_checks_are_switched_off_old_results_are_not_told() -> None:
    host = controller(result(1, FAULT))
    assert IDLE_CHECKS.is_present(host)
    del host.files[SETTINGS]
    assert not IDLE_CHECKS.is_present(host)
    assert not IDLE_CHECKS.is_present(FakeHost())


@pytest.mark.parametrize("nodes", ["", "[]", '{"n1": {}}', '{"n1": {"results": [{}]}}'])
def test_a_file_that_cannot_be_read_is_told(nodes: str) -> None:
    host = controller()
    host.files[RESULTS] = f'{{"at": {int(NOW)}, "nodes": {nodes}}}'
    with pytest.raises(CollectorFailed, match=RESULTS):
        found(IDLE_CHECKS, host)
