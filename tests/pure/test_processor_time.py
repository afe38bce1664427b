from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processor_time import Meter, kind, lines

BURN = "import time\nwhile time.process_time() < 0.3: pass"


def test_a_child_counts_once_it_has_ended() -> None:
    meter = Meter("unit")
    try:
        before = meter.seconds()
        subprocess.run([sys.executable, "-c", BURN], check=True)
        assert meter.seconds() - before >= 0.3
    finally:
        meter.close()


def test_the_group_of_a_run_that_was_killed_is_removed() -> None:
    meter = Meter("unit")
    try:
        if not meter.group:
            pytest.skip("there is no cpuacct controller that may be written")
        left = meter.group / "pytest-0" / "gw0"
        left.mkdir(parents=True)
        Meter("next").close()
        assert not left.parent.exists()
    finally:
        meter.close()


def test_the_kind_of_a_test_is_that_of_its_folder() -> None:
    assert kind("tests/nodes/faults/test_customer.py") == "booted clusters"
    assert kind("tests/pure/cli/test_plan.py") == "everything else"


def test_what_no_test_took_is_start_and_collection() -> None:
    found = lines({"tests/pure/rules/test_a.py": 2.0, "tests/pure/test_b.py": 5.0}, 10.0)
    assert found[:4] == [
        "    10.0  in all",
        "     5.0  everything else",
        "     3.0  start and collection",
        "     2.0  rules",
    ]
    assert found[-2:] == ["     5.0  tests/pure/test_b.py", "     2.0  tests/pure/rules/test_a.py"]
