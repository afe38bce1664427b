"""A round of collectors, the text that comes of it, and the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurmpod_exporter.__main__ import collect, publish
from slurmpod_exporter.collector import Collector, CollectorFailed, Host
from slurmpod_exporter.collectors import COLLECTORS
from slurmpod_exporter.exposition import FAMILIES, Sample, exposition
from tests.pure.exporter.fake_host import FakeHost

UP = Sample("slurmpod_slurmctld_up", {}, 1)


def collector(name: str, act: Callable[[], Iterator[Sample]], *, present: bool = True) -> Collector:
    return Collector(name, lambda _: present, lambda _: act())


def fails() -> Iterator[Sample]:
    yield UP
    raise CollectorFailed("sinfo: no")


def breaks() -> Iterator[Sample]:
    raise ValueError("unexpected")
    yield UP


def successes(*collectors: Collector) -> dict[str, float]:
    return {
        sample.labels["collector"]: sample.value
        for sample in collect(collectors, FakeHost())
        if sample.name == "slurmpod_collector_success"
    }


@pytest.mark.parametrize("act", [fails, breaks])
def test_a_collector_that_fails_takes_nothing_from_others(
    act: Callable[[], Iterator[Sample]],
) -> None:
    good = collector("good", lambda: iter([UP]))
    samples = list(collect([collector("bad", act), good], FakeHost()))
    assert samples.count(UP) == 1
    assert successes(collector("bad", act), good) == {"bad": 0, "good": 1}


def test_what_a_node_does_not_have_is_not_told() -> None:
    assert successes(collector("gpu", breaks, present=False)) == {}


def test_a_plain_node_runs_no_command() -> None:
    host = FakeHost()
    assert list(collect(COLLECTORS, host)) == []
    assert host.ran == []


def test_the_text_is_in_prometheus_format() -> None:
    samples = [
        UP,
        Sample("slurmpod_gpu_info", {"gpu": "0", "product": 'a "b" \\ c\nd'}, 1),
        Sample("slurmpod_gpu_info", {"gpu": "1"}, 0.000792),
    ]
    assert exposition(samples).splitlines() == [
        f"# HELP slurmpod_slurmctld_up {FAMILIES['slurmpod_slurmctld_up'].meaning}",
        "# TYPE slurmpod_slurmctld_up gauge",
        "slurmpod_slurmctld_up{} 1.0",
        f"# HELP slurmpod_gpu_info {FAMILIES['slurmpod_gpu_info'].meaning}",
        "# TYPE slurmpod_gpu_info gauge",
        'slurmpod_gpu_info{gpu="0",product="a \\"b\\" \\\\ c\\nd"} 1.0',
        'slurmpod_gpu_info{gpu="1"} 0.000792',
    ]


def test_names_follow_prometheus_practice() -> None:
    for name, family in FAMILIES.items():
        assert name.endswith("_total") == (family.kind == "counter"), name


def test_the_file_is_replaced_as_a_whole_and_everybody_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "slurmpod.prom"
    publish([UP], file)
    publish([], file)
    assert file.read_text() == ""
    assert file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["slurmpod.prom"]


class TestHost:
    def test_runs_commands_and_tells_why_they_fail(self) -> None:
        host = Host(is_controller=False)
        assert host.run("echo", "hello") == "hello\n"
        with pytest.raises(CollectorFailed, match="ended with 3: sorry"):
            host.run("sh", "-c", "echo sorry >&2; exit 3")
        with pytest.raises(CollectorFailed, match="No such file"):
            host.run("/no/such/program")

    def test_takes_the_first_line_of_what_goes_on_for_ever(self) -> None:
        host = Host(is_controller=False)
        assert host.first_line("yes") == "y\n"
        with pytest.raises(CollectorFailed, match="printed nothing"):
            host.first_line("true")

    def test_finds_and_reads_files(self, tmp_path: Path) -> None:
        (tmp_path / "a1").write_text("one")
        host = Host(is_controller=False)
        assert host.glob(f"{tmp_path}/a*") == [f"{tmp_path}/a1"]
        assert host.read(f"{tmp_path}/a1") == "one"
        with pytest.raises(CollectorFailed, match="No such file"):
            host.read(f"{tmp_path}/b")
