from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest

from embedded_aws.clients import Clients
from slurmpod.reading.read import Reading, read_as
from slurmpod.rehearsal.faults import usual as usual_module
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import FaultReport
from slurmpod.rehearsal.faults.registry import ALL, FAULTS, chosen, unmet_needs
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.usual import Usual, usual, usual_duration
from slurmpod.rehearsal.faults.watch import FaultFailed, Moment, Stage, Watch
from slurmpod.rehearsal.hyperpod.capacity import Shortage
from slurmpod.rehearsal.shell import CommandFailed, Shell
from slurmpod.resolve import resolve
from tests.golden_files import ROOT, assert_matches
from tests.sound_environment import SOUND, sound_with
from tools.fault_figures import kept
from tools.faults_page import NEEDS, faults_page, figures

CLUSTER = FaultCluster(
    folder=Path("/nowhere"),
    aws=Clients(endpoint="http://127.0.0.1:9", account="123456789012", region="us-west-2"),
    name="dev",
    controller="ip-10-0-0-1",
    login="ip-10-0-0-2",
    workers=("ip-10-0-0-3", "ip-10-0-0-4"),
    partition="cpu",
    shared=Path("/fsx"),
    shortage=Shortage(Path("/nowhere")),
)
EVERYWHERE = [fault.name for fault in FAULTS if fault.need is None]
PAGE = ROOT / "docs" / "faults.md"


def report(*moments: Moment) -> FaultReport:
    return FaultReport("name", "Title", moments, (), 9.0)


def lacking(text: str, *names: str) -> tuple[str, ...]:
    environment = read_as("environment.yaml", text).environment
    assert environment is not None
    return unmet_needs(resolve(Reading(environment)), chosen(names or (ALL,)))


class TestReport:
    def test_recovery_counts_from_when_the_cause_was_gone(self) -> None:
        found = report(
            Moment(0.0, Stage.INJECTED, "cut"),
            Moment(1.5, Stage.NOTICED, "seen"),
            Moment(2.0, Stage.NOTICED, "seen again"),
            Moment(4.0, Stage.REPAIRED, "healed"),
            Moment(4.5, Stage.RECOVERED, "half"),
            Moment(6.0, Stage.RECOVERED, "whole"),
        )
        assert (found.noticed_seconds, found.recovered_seconds) == (1.5, 2.0)

    def test_without_a_person_it_counts_from_the_fault(self) -> None:
        found = report(Moment(0.0, Stage.INJECTED, "cut"), Moment(3.0, Stage.RECOVERED, "whole"))
        assert (found.noticed_seconds, found.recovered_seconds) == (None, 3.0)


class TestWatch:
    def test_time_counts_from_the_fault(self) -> None:
        watch = Watch(0.0)
        watch.injected("cut")
        watch.noticed("seen")
        watch.recovered("whole")
        seconds = [moment.seconds for moment in watch.moments]
        assert seconds[0] == 0.0
        assert all(before <= after for before, after in pairwise(seconds))

    def test_another_state_is_a_failure_that_says_which(self) -> None:
        with pytest.raises(FaultFailed, match=r"the node: not 'idle' within 0 s, but 'down'"):
            Watch(0.0).until("the node", lambda: "down", "idle")

    def test_a_command_that_fails_is_tried_again(self) -> None:
        answers = iter((CommandFailed("no controller"), "idle"))

        def probe() -> str:
            answer = next(answers)
            if isinstance(answer, CommandFailed):
                raise answer
            return str(answer)

        Watch(60.0).until("the node", probe, "idle")
        assert list(answers) == []


class Told:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.last = ""
        self.notes: list[str] = []

    def now(self, detail: str) -> None:
        self.last = detail

    def note(self, text: str) -> None:
        self.notes.append(text)


class TestTelling:
    def test_what_happens_is_told_when_it_happens(self) -> None:
        told = Told()
        watch = Watch(0.0, told)
        watch.injected("cut")
        watch.recovered("whole")
        assert told.notes == ["     0.0 s  injected: cut", "     0.0 s  recovered: whole"]

    def test_what_is_waited_for_is_told_and_for_how_long_at_most(self) -> None:
        told = Told()
        Watch(660.0, told).until("Slurm gives the node up", lambda: 1, 1)
        assert told.last == "waiting, 0 s of at most 660 s: Slurm gives the node up"

    def test_a_long_wait_leaves_a_line_now_and_then(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = iter(range(0, 10_000, 25))
        monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
        monkeypatch.setattr(time, "sleep", lambda _: None)
        told, answers = Told(), iter(range(10))
        Watch(660.0, told).until("the node", lambda: next(answers), 6)
        assert told.notes == [
            f"  still waiting after {seconds} s: the node" for seconds in (75, 150)
        ]


class TestChoice:
    def test_names_choose_in_the_order_of_all(self) -> None:
        last, first = FAULTS[-1], FAULTS[0]
        assert chosen([last.name, first.name, last.name]) == (first, last)
        assert chosen([ALL]) == FAULTS
        assert chosen([]) == ()

    def test_a_small_environment_lacks_nothing_for_most_faults(self) -> None:
        assert lacking(SOUND, *EVERYWHERE) == ()

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            ("      count: 2\n", "      count: 1\n", "a count of 2 or more"),
            ("  lustre:\n    capacity_gib: 1200\n", "  lustre: null\n", "a shared file system"),
            ("tags:\n  team: ml\n", "slurm:\n  accounting: false\n", "jobs need records"),
            ("cluster:\n", "cluster:\n  node_recovery: None\n", "replace faulty nodes"),
        ],
    )
    def test_what_faults_need_is_asked_for(self, old: str, new: str, reason: str) -> None:
        (found,) = lacking(sound_with(old, new), *EVERYWHERE)
        assert reason in found

    def test_a_cluster_without_our_scripts_cannot_suffer_faults(self) -> None:
        (found,) = lacking(f"{SOUND}lifecycle:\n  mode: managed\n", *EVERYWHERE)
        assert "slurmpod's own scripts must run" in found

    def test_in_extended_mode_some_faults_cannot_be_tried(self) -> None:
        extended = f"{SOUND}lifecycle:\n  mode: extended\n"
        assert lacking(extended, "worker-power-cut", "scripts-twice", "many-joining") == ()
        lacks = lacking(extended, ALL)
        assert [each.partition(" for ")[2] for each in lacks] == [
            "network-lost, file-system-late, names-gone",
            "capacity-late, capacity-part, spot-reclaimed",
            "plan-ends",
            "zone-fails",
        ]
        (found,) = lacking(extended, "worker-power-cut", "names-gone")
        assert found.endswith(" for names-gone")

    def test_faults_of_capacity_need_nodes_that_come_one_by_one_or_have_their_own_zone(
        self,
    ) -> None:
        new = f"edition: 2026\n{SOUND}"
        assert lacking(new, "capacity-late", "capacity-part", "spot-reclaimed") == ()
        (found,) = lacking(new, "zone-fails")
        assert found.endswith("(zone of their group) for zone-fails")


class TestSteadyJob:
    @pytest.mark.parametrize(
        ("output", "record", "lost"),
        [
            ("0 1\n0 2\nend\n", "COMPLETED", []),
            ("0 1\n0 2\n1 1\nend\n", "COMPLETED", []),
            ("0 1\n0 3\nend\n", "COMPLETED", ["lines of its output"]),
            ("0 1\n0 2\n", "COMPLETED", ["the end of its output"]),
            ("0 1\nend\n", "NODE_FAIL", ["its record, which says NODE_FAIL"]),
            ("0 1\nend\n", "", ["its record, which says nothing"]),
        ],
    )
    def test_every_loss_shows(
        self, monkeypatch: pytest.MonkeyPatch, output: str, record: str, lost: list[str]
    ) -> None:
        answers = {"sh": output, "sacct": record, "scontrol": "JobId=7 Restarts=1 JobState=X"}
        monkeypatch.setattr(Shell, "run", lambda _, command: answers[command[0]])
        job = SteadyJob(CLUSTER, Watch(0.0), "7", Path("/fsx/job"))
        assert list(job.losses()) == [f"job 7: {what}" for what in lost]

    def test_a_record_that_comes_late_is_no_loss(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(time, "sleep", lambda _: None)
        answers = {"sh": "0 1\nend\n", "scontrol": "JobId=7 Restarts=0 JobState=X"}
        states = iter(("", "RUNNING", "COMPLETED", "COMPLETED"))
        monkeypatch.setattr(
            Shell, "run", lambda _, command: answers.get(command[0]) or next(states)
        )
        assert list(SteadyJob(CLUSTER, Watch(60.0), "7", Path("/fsx/job")).losses()) == []


class TestPage:
    def test_the_page_is_fresh(self, update_golden: bool) -> None:
        assert_matches(PAGE, faults_page(), update=update_golden)

    def test_what_not_every_cluster_has_is_said(self) -> None:
        for fault in FAULTS:
            section = faults_page().partition(f"(`{fault.name}`)\n")[2].partition("\n## ")[0]
            found = [need for need, text in NEEDS.items() if f"- Only with: {text}\n" in section]
            assert found == ([fault.need] if fault.need else [])

    def test_what_nobody_notices_is_called_so(self) -> None:
        shown = figures(Usual(None, 3.0, 9.4))
        assert shown.startswith("not noticed; recovered 3.0 s after the cause")
        assert shown.endswith("; 9 s in all")


class TestUsual:
    def test_every_fault_was_measured(self) -> None:
        assert usual().keys() == {fault.name for fault in FAULTS}

    def test_durations_are_told_roughly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        known = {"a": Usual(None, 3.0, 41.2), "b": Usual(1.0, 3.0, 371.0)}
        monkeypatch.setattr(usual_module, "usual", lambda: known)
        assert [usual_duration(name) for name in ("a", "b", "c")] == ["41 s", "6 min", ""]

    def test_figures_of_a_run_are_kept_and_others_stay(self) -> None:
        before = {"b": {"noticed_seconds": 1.0, "recovered_seconds": 1.0, "total_seconds": 1.0}}
        report: dict[str, object] = {"name": "a", "noticed_seconds": None, "recovered_seconds": 2.0}
        fault: dict[str, object] = {**report, "total_seconds": 3.0, "lost": []}
        for outcome in ({"faults": [fault]}, [fault]):
            found = json.loads(kept(before, [outcome]))
            assert found == {
                "a": {"noticed_seconds": None, "recovered_seconds": 2.0, "total_seconds": 3.0},
                **before,
            }


def test_every_fault_says_everything_once() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert all((fault.title, fault.sees, fault.logged, fault.recovers))
