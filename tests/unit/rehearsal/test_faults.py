from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from embedded_aws.clients import Clients
from slurmpod.reading.read import Reading, read_as
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import FaultReport
from slurmpod.rehearsal.faults.registry import ALL, FAULTS, chosen, unmet_needs
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import FaultFailed, Moment, Stage, Watch
from slurmpod.rehearsal.shell import CommandFailed, Shell
from slurmpod.resolve import resolve
from tests.golden_files import ROOT, assert_matches
from tests.sound_environment import SOUND, sound_with
from tools.faults_page import (
    CUSTOMER_MODE,
    faults_page,
    figures,
    measured_on,
)

CLUSTER = FaultCluster(
    folder=Path("/nowhere"),
    aws=Clients(endpoint="http://127.0.0.1:9", account="123456789012", region="us-west-2"),
    name="dev",
    controller="ip-10-0-0-1",
    login="ip-10-0-0-2",
    workers=("ip-10-0-0-3", "ip-10-0-0-4"),
    partition="cpu",
    shared=Path("/fsx"),
)
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
            Moment(4.0, Stage.MENDED, "healed"),
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


class TestChoice:
    def test_names_choose_in_the_order_of_all(self) -> None:
        last, first = FAULTS[-1], FAULTS[0]
        assert chosen([last.name, first.name, last.name]) == (first, last)
        assert chosen([ALL]) == FAULTS
        assert chosen([]) == ()

    def test_a_small_environment_lacks_nothing(self) -> None:
        assert lacking(SOUND) == ()

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            ("      count: 2\n", "      count: 1\n", "a count of 2 or more"),
            ("  lustre:\n    capacity_gib: 1200\n", "  lustre: null\n", "a file system"),
            ("tags:\n  team: ml\n", "slurm:\n  accounting: false\n", "jobs need records"),
            ("cluster:\n", "cluster:\n  node_recovery: None\n", "replace faulty nodes"),
        ],
    )
    def test_what_faults_need_is_asked_for(self, old: str, new: str, reason: str) -> None:
        (found,) = lacking(sound_with(old, new))
        assert reason in found

    def test_a_cluster_without_our_scripts_cannot_suffer_faults(self) -> None:
        (found,) = lacking(f"{SOUND}lifecycle:\n  mode: managed\n")
        assert "our own scripts have to run" in found

    def test_in_extended_mode_some_faults_cannot_be_tried(self) -> None:
        extended = f"{SOUND}lifecycle:\n  mode: extended\n"
        assert lacking(extended, "worker-power-cut", "scripts-twice", "many-joining") == ()
        (found,) = lacking(extended, ALL)
        assert found.endswith(" for network-lost, file-system-late, names-gone")
        (found,) = lacking(extended, "worker-power-cut", "names-gone")
        assert found.endswith(" for names-gone")


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


class TestPage:
    def test_the_page_is_fresh(self, update_golden: bool) -> None:
        measured = measured_on(PAGE.read_text(encoding="utf-8"))
        assert_matches(PAGE, faults_page(measured), update=update_golden)

    def test_every_fault_was_measured(self) -> None:
        measured = measured_on(PAGE.read_text(encoding="utf-8"))
        assert sorted(measured) == sorted(fault.name for fault in FAULTS)
        assert "not yet" not in measured.values()

    def test_what_only_our_scripts_can_meet_is_said(self) -> None:
        for fault in FAULTS:
            section = faults_page({}).partition(f"(`{fault.name}`)\n")[2].partition("\n## ")[0]
            assert (CUSTOMER_MODE in section) is fault.customer_mode_only

    def test_figures_survive_a_change_of_the_texts(self) -> None:
        measured = {fault.name: f"{fault.name} took 1.0 s" for fault in FAULTS}
        assert measured_on(faults_page(measured)) == measured

    def test_what_nobody_notices_is_called_so(self) -> None:
        found = report(Moment(0.0, Stage.INJECTED, "cut"), Moment(3.0, Stage.RECOVERED, "whole"))
        assert figures(found) == "nobody notices, as before 3.0 s after its cause was gone"


def test_every_fault_says_everything_once() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert all((fault.title, fault.sees, fault.logged, fault.recovers))
