"""A job that Slurm has given nodes which HyperPod has no instance for yet."""

from __future__ import annotations

from slurmpod.operations.why.job_causes import causes_of_late_nodes
from slurmpod.operations.why.job_facts import job_of
from tests.pure.operations.nodes import live

LACKING = "We currently do not have sufficient capacity."
NODES = [
    live("cpu", "i-6", "ip-10-0-1-6"),
    live("cpu", "i-7", "ip-10-0-1-7", "Pending", LACKING),
    live("cpu", "i-8", "ip-10-0-1-8", "Pending", LACKING),
    live("cpu", "i-9", "ip-10-0-1-9", "Pending", LACKING),
]


def found(state: str, nodes: str) -> list[str]:
    job = job_of("7", {"state": f"JobId=7 JobState={state} NodeList={nodes}\n"}, {})
    return [cause for each in causes_of_late_nodes(job, NODES) for cause in (each.says, each.fix)]


def test_names_those_that_it_waits_for_and_what_is_there() -> None:
    says, fix = found("CONFIGURING", "ip-10-0-1-[6-8]")
    assert "it waits for ip-10-0-1-[7-8]" in says
    assert says.endswith(f"SageMaker says Pending {LACKING}")
    assert fix == "wait; or cancel it, and ask for what is there of them (1)"


def test_one_that_runs_or_has_all_its_nodes_waits_for_none() -> None:
    assert found("RUNNING", "ip-10-0-1-[6-8]") == []
    assert found("CONFIGURING", "ip-10-0-1-6") == []
