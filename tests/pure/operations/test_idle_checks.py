"""What a controller tells of checks of idle nodes, as `status` and `node check` show it."""

from __future__ import annotations

import json

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli.node_check import say_history
from slurmpod.cli.status_text import checks_line
from slurmpod.operations.idle_checks import (
    HISTORY,
    OFFENCES,
    ROUND,
    CheckedNodes,
    history_command,
    newest_command,
    read_history,
    read_newest,
    read_summary,
    summary_command,
)
from slurmpod.operations.slurm_overview import view_command
from slurmpod_checks import __main__ as program
from slurmpod_checks import summary as summaries
from slurmpod_checks.records import NodeRecord, Result, State
from slurmpod_checks.summary import MOST_NODES, history, newest, summary
from slurmpod_health.finding import Finding, Verdict
from slurmpod_lifecycle.steps.active_checks import FOLDER

MINUTE = 1_795_000_000
BAD = Finding("scratch", Verdict.BAD, "/scratch cannot be used: Input/output error")
TOLD = Finding("accelerators", Verdict.REPORTED, "there is no dcgmi: GPUs were not tested")


def state(trouble: str = "") -> State:
    def result(*findings: Finding, partner: str = "") -> Result:
        numbers = {"pair MiB/s": 3000.0} if partner else {"scratch read MiB/s": 812.5}
        return Result(MINUTE, "i-1", "p5", partner, findings, numbers, is_told=True)

    nodes = {
        "ip-1": NodeRecord("gpu", (result(BAD), result(BAD, TOLD))),
        "ip-2": NodeRecord("gpu", (result(TOLD), result(partner="ip-1"))),
        "ip-3": NodeRecord("gpu"),
    }
    return State(nodes=nodes, at=MINUTE, trouble=trouble)


def test_status_has_one_line() -> None:
    found = read_summary(json.dumps(summary(state())))
    assert found is not None
    assert checks_line(found).plain == (
        "2 nodes checked, 0 under way, last round 2026-11-18 11:06 UTC; failed: ip-1; "
        "failed repeatedly: ip-1 (2 times)"
    )
    troubled = read_summary(json.dumps(summary(state("Invalid account"))))
    assert troubled is not None
    assert checks_line(troubled).plain.endswith("; checks cannot start: Invalid account")


@pytest.mark.parametrize("said", ["", "bash: python3: not found", "[]", '{"at": 1}', '{"at": "x"}'])
def test_a_controller_without_checks_has_no_line(said: str) -> None:
    assert read_summary(said) is None


def test_who_has_no_checks_is_not_asked() -> None:
    assert summary_command() in view_command((), checks=True, gpus=False)
    assert ROUND not in view_command((), checks=False, gpus=False)
    assert f"{FOLDER}/round.py" == ROUND


def test_the_history_of_a_node_is_a_line_for_each_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = json.dumps(history(state(), ["ip-1", "ip-2", "ip-9"]))
    found = read_history({"history": told})
    for name, results in found.items():
        say_history(name, results)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ip-1: 2 checks, failed 2 times"
    assert lines[1] == (
        "  2026-11-18 11:06 UTC  i-1  alone  "
        "BAD: /scratch cannot be used: Input/output error; scratch read MiB/s 812.5"
    )
    assert lines[3] == "ip-2: 2 checks, failed 0 times"
    assert lines[5].endswith("i-1  with ip-1  pair MiB/s 3000")
    assert lines[6] == "ip-9: 0 checks, failed 0 times"


def test_a_ring_is_named_by_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    ring = Result(
        MINUTE, "i-1", "p5", "ring of 8", (), {"ring all-reduce GB/s": 40.0}, is_told=True
    )
    records = {"ip-1": NodeRecord("gpu", (ring,))}
    said = json.dumps(history(State(nodes=records), ["ip-1"]))
    say_history("ip-1", read_history({HISTORY: said})["ip-1"])
    assert "i-1  in a ring of 8  ring all-reduce GB/s 40\n" in capsys.readouterr().out


def test_the_newest_results_have_who_is_at_fault_first() -> None:
    """Before it, ip-2 is good now and was never bad; ip-3 was never checked."""
    found = read_newest(json.dumps(newest(state())))
    assert [each.name for each in found.nodes] == ["ip-1", "ip-2"]
    assert found.more == 0
    worst, good = found.nodes
    assert (worst.is_bad, worst.checks, worst.offences) == (True, 2, 2)
    assert [(each.faults, each.told) for each in worst.results] == [((BAD.detail,), (TOLD.detail,))]
    assert (good.is_bad, [each.partner for each in good.results]) == (False, ["", "ip-1"])
    assert found.offenders == (worst,)
    assert summaries.OFFENCES == OFFENCES


def test_who_is_bad_now_comes_before_who_was_so_more_often() -> None:
    bad, good = state().nodes["ip-1"].results[0], state().nodes["ip-2"].results[0]
    nodes = {
        "a-good": (good,),
        "b-was-bad": (bad, good),
        "c-was-worse": (bad, bad, good),
        "d-is-bad": (good, bad),
    }
    records = {name: NodeRecord("gpu", results) for name, results in nodes.items()}
    found = read_newest(json.dumps(newest(State(nodes=records))))
    assert [each.name for each in found.nodes] == ["d-is-bad", "c-was-worse", "b-was-bad", "a-good"]


def test_of_many_nodes_the_rest_is_counted() -> None:
    good = NodeRecord("gpu", (Result(MINUTE, "i-1", "p5", "", (), {}, is_told=True),))
    many = {f"ip-9-{number}": good for number in range(MOST_NODES)}
    found = read_newest(json.dumps(newest(State(nodes={**many, **state().nodes}))))
    assert (len(found.nodes), found.more) == (MOST_NODES, 2)
    assert found.nodes[0].name == "ip-1"


def test_the_question_for_the_newest_results_is_what_the_program_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "load", State)
    assert f"{ROUND} --newest" in newest_command()
    assert program.main(["--newest"]) == 0
    assert read_newest(capsys.readouterr().out) == CheckedNodes((), 0)


@pytest.mark.parametrize("said", ["", "usage: slurmpod_checks", "[]", '{"nodes": [{}], "more": 0}'])
def test_a_controller_without_newest_results_is_told(said: str) -> None:
    with pytest.raises(AwsUnavailable, match="has no idle checks"):
        read_newest(said)


@pytest.mark.parametrize("said", ["", "python3: can't open file", '{"ip-1": 1}', '{"ip-1": [{}]}'])
def test_a_controller_without_checks_is_told(said: str) -> None:
    with pytest.raises(AwsUnavailable, match="has no idle checks"):
        read_history({"history": said})


def test_names_are_quoted() -> None:
    assert "'a b'" in history_command(["a b"])
