"""What tools of accelerators print, and what is read from it.

The output of DCGM 3.1 is that of NVIDIA's own test of its reader (NVIDIA/DCGM, JsonResult tests,
`Deserialize real output`), shortened to five tests of two GPUs; a failure is written into it in the
form that modules/diag of DCGM documents. DCGM 4's summary and name are those of pull request 38 of
facebookresearch/gcm. nccom-test's is of the NCCOM-TEST User Guide (AWS Neuron, 2.29).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from slurmpod_checks import accelerators
from slurmpod_checks.accelerators import gpu_findings, neuron_numbers, read_dcgm
from slurmpod_health.finding import Verdict
from slurmpod_health.probe import ProbeFailed, ProbeMissing, ProbeTimedOut

NCCOM = """\
     size(B)    count(elems)     type    time(us)    algbw(GB/s)    busbw(GB/s)
    33554432        33554432    uint8         768          40.69          40.69
Avg bus bandwidth:      40.6901GB/s
"""


def result(status: str, gpus: Any, *warnings: str) -> dict[str, Any]:
    more = {"warnings": list(warnings)} if warnings else {}
    return {"gpu_ids": gpus, "status": status, **more}


def dcgm_3(*tests: dict[str, Any] | None) -> str:
    deployment = [
        {"name": "Denylist", "results": [result("PASS", "0,1")]},
        None,
        {"name": "Page Retirement/Row Remap", "results": [result("PASS", "0,1")]},
    ]
    categories = [
        {"category": "Deployment", "tests": deployment},
        {"category": "Custom", "tests": list(tests)},
    ]
    data = {"DCGM GPU Diagnostic": {"test_categories": categories, "version": "3.1.0"}}
    return f"WARNING: THIS SHOULD NOT HAPPEN\n{json.dumps(data, indent=1)}\n"


def dcgm_4(status: str, *results: dict[str, Any]) -> str:
    test = {"name": "memory", "results": list(results), "test_summary": {"status": status}}
    category = {"category": "Hardware", "tests": [test]}
    return json.dumps({"DCGM Diagnostic": {"test_categories": [category]}})


class TestDcgm:
    def test_all_that_passed_is_good(self) -> None:
        memory = {"name": "Memory", "results": [result("PASS", 0), result("Skip", 1)]}
        (finding,) = read_dcgm(dcgm_3(memory), 2)
        assert finding.verdict is Verdict.GOOD
        assert finding.detail == "3 tests of DCGM's level 2 passed"

    def test_a_gpu_that_fails_is_named_with_the_reason(self) -> None:
        memory = {"name": "Memory", "results": [result("PASS", 0), result("FAIL", 1, "page 7")]}
        (finding,) = read_dcgm(dcgm_3(memory), 2)
        assert (finding.verdict, finding.detail) == (
            Verdict.BAD,
            "DCGM Memory: fail on GPU 1: page 7",
        )

    def test_a_warning_and_what_an_image_has_done_are_only_told(self) -> None:
        warned = {"name": "PCIe", "results": [result("WARN", 0, "slow")]}
        software = {"name": "Persistence Mode", "results": [result("FAIL", "0,1")]}
        findings = read_dcgm(dcgm_3(warned, software), 1)
        assert [each.verdict for each in findings] == [Verdict.REPORTED, Verdict.REPORTED]

    def test_version_4_has_a_summary_and_entities(self) -> None:
        fails = {"entity_id": 3, "status": "Fail", "warnings": [{"warning": "bad", "error_id": 1}]}
        (finding,) = read_dcgm(dcgm_4("Fail", {"entity_id": 0, "status": "Pass"}, fails), 2)
        assert (finding.verdict, finding.detail) == (
            Verdict.BAD,
            "DCGM memory: fail on GPU 3: bad",
        )
        (finding,) = read_dcgm(dcgm_4("Fail"), 2)
        assert (finding.verdict, finding.detail) == (Verdict.BAD, "DCGM memory: fail")
        assert read_dcgm(dcgm_4("Pass"), 2)[0].verdict is Verdict.GOOD

    @pytest.mark.parametrize("said", ["", "{", "{}", '{"DCGM Diagnostic": {}}', "[1]", "{1}"])
    def test_what_nobody_can_read_drains_nobody(self, said: str) -> None:
        (finding,) = read_dcgm(said, 2)
        assert finding.verdict is Verdict.REPORTED

    def test_no_test_at_all_is_told(self) -> None:
        (finding,) = read_dcgm('{"DCGM Diagnostic": {"test_categories": []}}', 2)
        assert finding.verdict is Verdict.REPORTED

    @pytest.mark.parametrize(
        "error", [ProbeMissing("there is no dcgmi"), ProbeTimedOut("no answer"), ProbeFailed("x")]
    )
    def test_a_tool_that_does_not_run_says_nothing_of_the_node(
        self, monkeypatch: pytest.MonkeyPatch, error: ProbeFailed
    ) -> None:
        def probe(*_: str, seconds: float) -> str:
            assert seconds
            raise error

        monkeypatch.setattr(accelerators, "probe", probe)
        (finding,) = gpu_findings(1)
        assert finding.verdict is Verdict.REPORTED

    def test_a_tool_that_ends_badly_has_said_why(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def probe(*command: str, seconds: float) -> str:
            assert command[:4] == ("dcgmi", "diag", "--run", "3")
            assert seconds
            error = ProbeFailed("status 226")
            error.said = dcgm_4("Fail")
            raise error

        monkeypatch.setattr(accelerators, "probe", probe)
        assert gpu_findings(3)[0].verdict is Verdict.BAD


def test_the_all_reduce_of_all_neuron_cores_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def probe(*command: str, seconds: float) -> str:
        assert seconds
        ran.append(command)
        devices = [{"neuron_device": number, "nc_count": 2} for number in range(16)]
        return json.dumps(devices) if command[0].endswith("neuron-ls") else NCCOM

    monkeypatch.setattr(accelerators, "probe", probe)
    assert neuron_numbers() == {"neuron all-reduce GB/s": 40.6901}
    assert ran[-1][1:] == ("-r", "32", "allr")
