"""Who used how many node-hours, and what they cost: sums, prices that are unknown, and CSV."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli import cost, main
from slurmpod.operations.cost import (
    Bill,
    prices_of_partitions,
    read_uses,
    summed,
    use_command,
    worker_hours,
)
from slurmpod.operations.goodput import Ending, read_goodput
from slurmpod.operations.idle import idle_command, read_idle
from slurmpod.operations.questions import read_answers
from slurmpod.plan.prices import bundled_prices
from slurmpod.problems import ExitCode
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.cluster_at_work import BEGAN, Cluster
from tests.sound_environment import SOUND

USED = "lab|alice|cpu|2|7200\nlab|bob|cpu|1|3600\n|carol|gpu|1|1800\n"
ENDED = "COMPLETED|9000|1800\nREQUEUED|1800|0\nFAILED|1800|0\n"
IDLE = """\
NodeName=ip-10-0-0-4 LastBusyTime=2026-11-01T08:00:00
NodeName=ip-10-0-1-3 LastBusyTime=2026-11-21T08:00:00
NodeName=ip-10-0-1-4 LastBusyTime=2026-11-22T08:00:00
NodeName=ip-10-0-1-2 LastBusyTime=Unknown
"""
SACCT = """\
began() { if [[ $SLURM_TIME_FORMAT == %s ]]; then echo $((BEGAN + $1)); else date; fi; }
record() { echo "$1|lab|alice|cpu|$2|$3|$4|$(began $5)|$(began $6)"; }
[[ $* != *--duplicates* ]] || record 7 16 72000 NODE_FAIL -7200 0
record 7 16 3600 COMPLETED 72000 73800
record 8 1 7200 "CANCELLED by 1001" 0 3600
record 9 1 0 PENDING 0 86400
[[ $* == *jobidraw,account,user,partition,nnodes,elapsedraw,state,eligible,start* ]]
"""
"""Job 7 ran for 20 hours, lost a node and ran for one more; job 9 has not begun.

Job 7 had begun before, and waits half an hour the second time, job 8 an hour.
"""

PRICES = {"cpu": Decimal(2), "gpu": None}
MORE = """\
    - {name: more, role: worker, instance_type: ml.p5.48xlarge, count: 1, partition: gpu}
"""


def environment(text: str = SOUND) -> Resolved:
    loaded = read_as("dev.yaml", text)
    assert loaded.environment is not None, loaded.problems
    return resolve(loaded)


def test_uses_are_summed_the_largest_first() -> None:
    by_account = summed(read_uses(USED, PRICES), "account")
    assert [(use.account, use.jobs, use.node_hours, use.usd) for use in by_account] == [
        ("lab", 3, 3.0, Decimal(6)),
        ("", 1, 0.5, None),
    ]
    assert [use.user for use in summed(read_uses(USED, PRICES), "user")] == [
        "alice",
        "bob",
        "carol",
    ]


def test_a_sum_with_an_unknown_price_is_unknown() -> None:
    uses = read_uses("lab|a|cpu|1|3600\nlab|a|gpu|1|3600\n", PRICES)
    assert summed(uses, "account")[0].usd is None


@pytest.fixture
def told(tmp_path: Path) -> Mapping[str, str]:
    """What a controller with those records answers of a day."""
    for name, script in {"sudo": 'shift; exec "$@"', "sacct": SACCT, "scontrol": ":"}.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{script}\n")
        (tmp_path / name).chmod(0o755)
    command = use_command(BEGAN, BEGAN + timedelta(days=1))
    tools = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "BEGAN": str(int(BEGAN.timestamp())),
    }
    shell = subprocess.run(["sh", "-c", command], env=tools, capture_output=True, text=True)
    return read_answers(shell.stdout, "head")


def test_each_run_of_a_requeued_job_has_its_hours(told: Mapping[str, str]) -> None:
    (use,) = read_uses(told["used"], PRICES)
    assert (use.jobs, use.node_hours) == (2, 16 * 21 + 2)


def test_hours_are_told_apart_by_how_their_run_ended(told: Mapping[str, str]) -> None:
    goodput = read_goodput(told["ended"])
    assert goodput.node_hours == {
        Ending.COMPLETED: 16.0,
        Ending.NODE_FAILURE: 16 * 20.0,
        Ending.CANCELLED: 2.0,
    }
    assert goodput.share == pytest.approx(16 / 338)
    assert goodput.waited_node_hours == 16 * 0.5 + 1


def test_what_has_not_ended_is_in_no_share() -> None:
    goodput = read_goodput("RUNNING|7200|0\nCOMPLETED|3600|60\nREQUEUED|3600|0\n")
    assert (goodput.ended, goodput.share) == (2.0, 0.5)
    assert goodput.node_hours[Ending.OPEN] == 2.0
    assert read_goodput("RUNNING|7200|0\n").share is None


def test_goodput_that_cannot_be_read_is_told() -> None:
    with pytest.raises(AwsUnavailable, match="slurmdbd is away"):
        read_goodput("slurmdbd is away\n")


@pytest.mark.parametrize("said", ["Slurm accounting storage is disabled", "sacct failed"])
def test_what_sacct_complains_of_is_told(said: str) -> None:
    with pytest.raises(AwsUnavailable, match=said):
        read_uses(f"{said}\n", {})


def test_nodes_of_a_partition_cost_what_its_groups_type_costs() -> None:
    resolved = environment()
    prices = prices_of_partitions(resolved, bundled_prices(resolved.region))
    assert prices["cpu"] == prices["dev"]
    assert prices["cpu"]


def test_a_partition_of_different_nodes_has_no_price() -> None:
    resolved = environment(SOUND + MORE)
    prices = prices_of_partitions(resolved, bundled_prices(resolved.region))
    assert prices["cpu"] != prices["gpu"]
    assert prices["dev"] is None


def test_the_idle_share_counts_workers_from_their_launch_on() -> None:
    nodes = ClusterView(Cluster().clients()).nodes("dev")
    since, until = BEGAN - timedelta(days=9), BEGAN + timedelta(hours=2)
    hours = worker_hours(nodes, environment(), since, until)
    assert hours == 4 * 2
    bill = Bill(since, until, read_uses(USED, PRICES), hours)
    assert bill.idle_share == pytest.approx(1 - 3.5 / 8)
    assert Bill(since, until, (), 0.0).idle_share is None


@pytest.fixture
def cluster() -> Cluster:
    """A cluster whose controller has records."""
    found = Cluster()
    found.answers = {"used": USED, "ended": ENDED, "idle": IDLE}
    return found


@pytest.fixture
def file(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The environment of the cluster."""
    account = SimpleNamespace(id=lambda: "123456789012")
    monkeypatch.setattr(cost, "AwsAccount", lambda _: account)
    monkeypatch.setattr(cost, "clients_of", lambda _: cluster.clients())
    monkeypatch.setattr(cost, "NodeSessions", lambda _: cluster.sessions())
    path = tmp_path / "dev.yaml"
    path.write_text(SOUND)
    return str(path)


def test_the_bill_fits_on_a_narrow_terminal(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main.run(["cost", file, "--by", "user"]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines if line.startswith("alice")] == [
        ["alice", "2", "2.00"]
    ]
    assert any(line.split()[-1] == "unknown" for line in lines if line.startswith("carol"))
    assert max(map(len, lines)) <= 80


def test_the_name_of_an_account_is_shown_as_it_is(
    file: str, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.answers["used"] = "lab[/fsx]:fire:|alice|cpu|2|7200\n"
    assert main.run(["cost", file]) == ExitCode.OK
    assert "lab[/fsx]:fire:" in capsys.readouterr().out


def test_csv_and_json_have_each_account_user_and_partition(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["cost", file, "--csv"]) == ExitCode.OK
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["user"] for row in rows] == ["alice", "bob", "carol"]
    assert (rows[0]["node_hours"], rows[2]["usd"]) == ("2.0000", "")
    assert main.run(["cost", file, "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert [use["partition"] for use in found["uses"]] == ["cpu", "cpu", "gpu"]
    assert datetime.fromisoformat(found["since"]).tzinfo == UTC


def test_idle_workers_are_shown_with_their_price_and_what_ends_them(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["cost", file]) == ExitCode.OK
    shown = capsys.readouterr()
    (line,) = (line for line in shown.out.splitlines() if line.startswith("no job now"))
    assert "2 of 4 nodes of workers, for up to" in line
    assert "USD an hour: 0." in line
    assert shown.err == f"next: slurmpod scale {file} workers 2\n"
    assert main.run(["cost", file, "--json"]) == ExitCode.OK
    (idle,) = json.loads(capsys.readouterr().out)["idle"]
    assert (idle["group"], idle["nodes"]) == ("workers", ["ip-10-0-1-3", "ip-10-0-1-4"])
    assert idle["since"] == "2026-11-21T08:00:00+00:00"


def test_goodput_is_shown_with_what_was_lost_and_what_it_cannot_know(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["cost", file]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "goodput: 71% of 3.50 node-hours of ended jobs" in shown
    assert "  lost to requeues: 0.50\n" in shown
    assert "repeated steps and pauses are not included" in shown
    assert main.run(["cost", file, "--json"]) == ExitCode.OK
    goodput = json.loads(capsys.readouterr().out)["goodput"]
    assert goodput["node_hours"] == {"completed": 2.5, "requeued": 0.5, "failed": 0.5}
    assert goodput["waited_node_hours"] == 0.5


def test_nodes_without_a_job_are_found_in_what_slurm_shows() -> None:
    shown = (
        "NodeName=ip-1 Arch=x86_64 CPUAlloc=0 CPUEfctv=4 LastBusyTime=2026-11-21T08:00:00 X=1\n"
        "NodeName=ip-2 Arch=x86_64 CPUAlloc=4 CPUEfctv=4 LastBusyTime=2026-11-21T08:00:00\n"
        "NodeName=ip-3 CPUAlloc=0 LastBusyTime=Unknown SlurmdStartTime=None\n"
    )
    awk = idle_command().partition(" | ")[2]
    found = subprocess.run(["sh", "-c", awk], input=shown, capture_output=True, text=True).stdout
    assert read_idle(found) == {"ip-1": datetime(2026, 11, 21, 8, tzinfo=UTC)}


@pytest.mark.parametrize("since", ["yesterday", "0m"])
def test_times_that_make_no_sense_are_refused(
    file: str, since: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["cost", file, "--since", since]) == ExitCode.USAGE
    assert "write 30m, 2h, 3d" in capsys.readouterr().err
