"""The state of an environment: what is asked, what stands where nothing can be read, the screen."""

from __future__ import annotations

import cProfile
import io
import json
import pstats

import pytest
from rich.console import Console

from slurmpod.cli.status_text import print_status
from slurmpod.operations.attempt import Unavailable, plain
from slurmpod.operations.node_states import NodeRow
from slurmpod.operations.status import Status, status_of
from slurmpod.reading.read import read
from slurmpod.resolve import Resolved
from slurmpod.rules.check import sound
from slurmpod.slurm.hostlist import folded
from tests.pure.operations.cluster_at_work import HEAD, NOW, WORKERS, Cluster
from tests.sound_environment import SOUND

WATCHED = f"{SOUND}monitoring: {{}}\nbudget: {{monthly_usd: 9000, emails: [a@example.com]}}\n"
SCREEN_LINES = 50


@pytest.fixture(scope="module")
def resolved(tmp_path_factory: pytest.TempPathFactory) -> Resolved:
    file = tmp_path_factory.mktemp("environment") / "dev.yaml"
    file.write_text(WATCHED)
    return sound(read(file)).resolved


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Resolved:
    """An environment that nobody watches."""
    file = tmp_path_factory.mktemp("bare") / "dev.yaml"
    file.write_text(SOUND)
    return sound(read(file)).resolved


def screen(status: Status, width: int = 160) -> list[str]:
    page = io.StringIO()
    print_status(status, Console(file=page, width=width, highlight=False))
    return page.getvalue().splitlines()


def line(page: list[str], word: str) -> str:
    """Return the only line with a word, with single spaces."""
    (found,) = [each for each in page if word in each]
    return " ".join(found.split())


def nodes_of(status: Status) -> dict[str, NodeRow]:
    assert not isinstance(status.nodes, Unavailable)
    return {each.names: each for each in status.nodes}


class TestSideBySide:
    def test_nodes_that_are_alike_stand_together_and_those_in_trouble_first(
        self, resolved: Resolved
    ) -> None:
        rows = nodes_of(status_of(Cluster().sources(), resolved, NOW))
        assert list(rows) == ["ip-10-0-1-3", "ip-10-0-1-4", "ip-10-0-0-4", "ip-10-0-1-[1-2]"]
        assert [row.is_well for row in rows.values()] == [False, False, True, True]
        drained = rows["ip-10-0-1-3"]
        assert (drained.status, drained.slurm) == ("Running", "drained")
        assert (drained.who, drained.reason) == ("alice", "bad NVLink | ask Bob")

    def test_a_worker_that_slurm_does_not_know_and_one_that_is_gone_are_seen(
        self, resolved: Resolved
    ) -> None:
        cluster = Cluster([HEAD, *WORKERS[:3]], sinfo="ip-10-0-1-[1-2,4]|idle|idle|x|x|none|\n")
        rows = nodes_of(status_of(cluster.sources(), resolved, NOW))
        assert (rows["ip-10-0-1-3"].slurm, rows["ip-10-0-1-3"].is_well) == ("not in Slurm", False)
        assert (rows["ip-10-0-1-4"].status, rows["ip-10-0-1-4"].is_well) == ("missing", False)

    def test_sagemakers_own_message_is_shown(self, resolved: Resolved) -> None:
        failed = ("workers", "i-9", "", "Failure", "no capacity in the zone")
        status = status_of(Cluster([HEAD, *WORKERS, failed]).sources(), resolved, NOW)
        assert line(screen(status), "i-9") == (
            "workers i-9 Failure not in Slurm no capacity in the zone"
        )


class TestScreen:
    def test_everything_is_on_it(self, resolved: Resolved) -> None:
        page = screen(status_of(Cluster().sources(), resolved, NOW))
        assert line(page, "cluster ").startswith("cluster InService")
        assert "alice, 11-23 21:10: bad NVLink | ask Bob" in line(page, "bad NVLink")
        assert line(page, "running") == "jobs 1 running, 41 waiting"
        assert line(page, "(Priority)") == "waiting (Priority): 40 (carol 40)"
        assert "90% of 1.2 TiB used; 9.5 MiB/s read" in line(page, "/fsx")
        assert line(page, "software") == (
            "software slurm 24.11.5, Ubuntu 22.04.5 LTS, kernel 6.8.0, ami-1"
        )
        assert line(page, "deployed").endswith("(dev-cluster); 4 stacks, all complete")
        assert line(page, "alarms").endswith("1 of 1 on")
        assert line(page, "this month") == "this month 1,234.50 of 9,000.00 USD"

    def test_it_is_no_wider_than_the_terminal(self, resolved: Resolved) -> None:
        page = screen(status_of(Cluster().sources(), resolved, NOW), width=80)
        assert max(map(len, page)) <= 80
        assert len(page) < SCREEN_LINES

    @pytest.mark.parametrize("text", ["eval[/fsx/run1]", "eval[baseline]", "train:fire:"])
    def test_what_users_write_is_shown_as_it_is(self, resolved: Resolved, text: str) -> None:
        cluster = Cluster(
            sinfo=f"ip-10-0-1-[1-4]|drained|idle+drain|alice|2026-11-23T21:10:00|reason {text}|\n",
            squeue=f"7|RUNNING|alice|cpu|2|1:02:03|NONE|ip-10-0-1-[1-2]|None|job {text}\n",
        )
        page = screen(status_of(cluster.sources(), resolved, NOW))
        assert line(page, "alice, 11-23").endswith(f"reason {text}")
        assert line(page, "1:02:03").endswith(f"job {text}")

    def test_as_json_nothing_is_folded_away(self, resolved: Resolved) -> None:
        data = json.loads(json.dumps(plain(status_of(Cluster().sources(), resolved, NOW))))
        assert data["slurm"]["nodes"]["ip-10-0-1-4"]["reason"] == "Not responding"
        assert [job["id"] for job in data["slurm"]["jobs"]] == ["7", "8", "9_[1-40]"]


class TestWhatCannotBeRead:
    @pytest.mark.parametrize(
        ("operation", "title"),
        [
            ("describe_cluster", "cluster"),
            ("list_cluster_nodes", "nodes"),
            ("describe_stacks", "deployed"),
            ("describe_alarms", "alarms"),
            ("describe_budget", "this month"),
        ],
    )
    @pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
    def test_is_said_in_its_place_and_the_rest_is_shown(
        self, resolved: Resolved, operation: str, title: str, code: str
    ) -> None:
        page = screen(status_of(Cluster(refused={operation: code}).sources(), resolved, NOW))
        found = " ".join(next(each for each in page if each.startswith(title)).split())
        assert found.startswith(f"{title} unknown: cannot")
        assert f"{code}: {operation} is not for you" in found
        titles = [each[:12].strip() for each in page if each[:1].strip()]
        assert {"cluster", "nodes", "storage", "deployed", "alarms", "this month"} < set(titles)

    def test_without_throughput_the_fill_is_shown(self, resolved: Resolved) -> None:
        cluster = Cluster(refused={"get_metric_data": "AccessDeniedException"})
        page = screen(status_of(cluster.sources(), resolved, NOW))
        assert "90% of 1.2 TiB used; throughput unknown: cannot read" in line(page, "/fsx")

    def test_a_file_system_that_hangs(self, resolved: Resolved) -> None:
        page = screen(status_of(Cluster(df="/fsx|\n").sources(), resolved, NOW))
        assert "/fsx fs-0123 does not answer" in line(page, "/fsx")

    def test_while_slurmctld_is_down_nodes_are_not_said_to_be_missing(
        self, resolved: Resolved
    ) -> None:
        error = "slurm_load_partitions: Unable to contact slurm controller (connect failure)\n"
        status = status_of(Cluster(sinfo=error, squeue=error).sources(), resolved, NOW)
        assert {row.slurm for row in nodes_of(status).values()} == {"-", "unknown"}
        assert "unknown: slurm_load_partitions: Unable to" in line(screen(status), "jobs")

    def test_without_a_controller_in_service_nobody_is_asked(self, resolved: Resolved) -> None:
        cluster = Cluster([("controller", "i-0", "", "Pending", ""), *WORKERS])
        page = screen(status_of(cluster.sources(), resolved, NOW))
        assert line(page, "jobs") == "jobs unknown: no controller is in service"
        assert cluster.asked["session"] == 0

    def test_what_nobody_watches_is_unknown_and_says_what_would_watch_it(
        self, bare: Resolved
    ) -> None:
        cluster = Cluster()
        page = screen(status_of(cluster.sources(), bare, NOW))
        assert "unknown: the environment has no `monitoring`" in line(page, "alarms")
        assert "unknown: the environment has no `budget`" in line(page, "this month")


def test_an_interrupt_ends_the_session(resolved: Resolved) -> None:
    sources = Cluster(refused={"describe_stacks": "interrupt"}).sources()
    ended = []
    sources.sessions.end = lambda: ended.append(True)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        status_of(sources, resolved, NOW)
    assert ended


def full_cluster(count: int) -> Cluster:
    """Return a cluster whose nodes almost all work, in groups of 500."""
    nodes = [
        (f"w{n // 500}", f"i-{n}", f"10.0.{n // 250}.{n % 250 + 4}", "Running", "")
        for n in range(1, count + 1)
    ]
    names = [f"ip-{node[2].replace('.', '-')}" for node in nodes]
    groups = (("allocated", names[:-99]), ("idle", names[-99:]))
    sinfo = "".join(f"{folded(each)}|{state}|{state}|x|x|none|\n" for state, each in groups)
    return Cluster([HEAD, *nodes], sinfo=sinfo)


class TestManyNodes:
    COUNT = 5000

    def test_are_listed_by_hundreds_in_one_session_on_one_screen(self, resolved: Resolved) -> None:
        cluster = full_cluster(self.COUNT)
        page = screen(status_of(cluster.sources(), resolved, NOW), width=80)
        assert cluster.asked["list_cluster_nodes"] == self.COUNT // 100 + 1
        assert cluster.asked["session"] == 1
        assert sum(cluster.asked.values()) - cluster.asked["list_cluster_nodes"] <= 10
        assert "4901 allocated, 99 idle, 1 no slurmd (by design)" in line(page, "allocated, ")
        assert len(page) < SCREEN_LINES

    def test_take_work_in_proportion_to_their_number(self, resolved: Resolved) -> None:
        assert _calls_for(resolved, 2000) < 2.5 * _calls_for(resolved, 1000)


def _calls_for(resolved: Resolved, count: int) -> int:
    """Return how many calls of functions the state of so many nodes takes."""
    nodes = [("w", f"i-{n}", f"10.0.{n // 250}.{n % 250}", "Running", "") for n in range(count)]
    names = [f"ip-{node[2].replace('.', '-')}" for node in nodes]
    reasons = "".join(
        f"{name}|drained|idle+drain|root|x|GPU {n}|\n" for n, name in enumerate(names)
    )
    sources = Cluster([HEAD, *nodes], sinfo=reasons).sources()
    profile = cProfile.Profile()
    profile.runcall(lambda: screen(status_of(sources, resolved, NOW)))
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined, no-any-return]
