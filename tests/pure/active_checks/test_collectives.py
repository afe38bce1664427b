"""What all_reduce_perf prints, and what is read from it.

The table is that of a published run of nccl-tests on two nodes with eight A100 each, the log of
NCCL that of published runs with AWS's plugin.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod_checks import collectives, on_node
from slurmpod_checks.collectives import ALL_REDUCE, RING_ALL_REDUCE, all_reduce, read
from slurmpod_checks.pair import PAIR
from slurmpod_checks.settings import PAIRS
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed

HEAD = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
 10737418240    2684354560     float     sum      -1    90330  118.87  222.88      0    91945  116.78  218.96      0
"""  # noqa: E501
END = """\
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 220.921
#
"""
LOG = "ip-10-0-1-7:94:94 [0] NCCL INFO NET/"
EFA = f"{LOG}OFI Selected provider is efa, fabric is efa (found 4 nics)\n"
SOCKET = f"{LOG}Socket : Using [0]ens32:10.0.1.7<0>\n"
NODES = ("n1", "n2")


def told(detail: str, check: str = "pairs") -> Finding:
    return Finding(check, Verdict.REPORTED, detail)


def test_the_bandwidth_of_the_table_is_read() -> None:
    assert list(read(EFA + HEAD + END, 400.0, 0.5)) == [220.921]


def test_far_below_the_bound_is_told_and_drains_nobody() -> None:
    found = list(read(EFA + HEAD + END, 750.0, 0.5))
    assert found[1:] == ["all-reduce reaches 220.921 of the 750 GB/s that EFA allows"]


def test_a_fall_to_sockets_is_told() -> None:
    (_, remark) = read(SOCKET + HEAD + END, 400.0, 0.5)
    assert remark == "NCCL exchanges over TCP, although the nodes have EFA"


def test_wrong_sums_have_no_rate() -> None:
    wrong = END.replace("0 OK", "3 FAILED")
    assert list(read(HEAD + wrong, 1.0, 0.5)) == ["all_reduce_perf: its sums are wrong"]


def test_the_smallest_rates_have_an_exponent() -> None:
    tiny = END.replace("220.921", "5.1e-05")
    assert next(read(EFA + HEAD + tiny, 400.0, 0.5)) == 5.1e-05


def test_what_cannot_be_read_is_told() -> None:
    said = "ip-10-0-1-7: Test CUDA failure common.cu:1007 'out of memory'\n"
    assert list(read(said, 1.0, 0.5)) == [f"all_reduce_perf: it says '{said.strip()}'"]


@pytest.mark.parametrize(("bound", "measured"), [(0.0, 1), (100.0, 2)])
def test_pairs_without_gpus_and_efa_exchange_over_tcp_only(
    bound: float, measured: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_node, "pair_numbers", lambda _: {PAIR: 1000.0})
    monkeypatch.setattr(on_node, "all_reduce", lambda *_: [(ALL_REDUCE, 80.0)])
    monkeypatch.setattr(on_node, "efa_exchange", lambda _: [])
    order = {"nodes": NODES, "all_reduce_bound": bound, "least_share": 0.5}
    assert len(list(on_node.CHECKS[PAIRS](order))) == measured


class TestProgram:
    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
        """What is run; the node has programs for two versions of CUDA, and eight GPUs."""
        calls: list[tuple[str, ...]] = []

        def glob(folder: Path, pattern: str) -> list[Path]:
            if str(folder) == "/dev":
                return [Path(f"/dev/nvidia{number}") for number in range(8)]
            versions = ("12.10", "12.9")
            names = (f"cuda-{each}/efa/test-cuda-{each}/all_reduce_perf" for each in versions)
            assert all(Path(name).match(pattern) for name in names)
            return [
                folder / f"cuda-{each}/efa/test-cuda-{each}/all_reduce_perf" for each in versions
            ]

        def probe(*command: str, seconds: float) -> str:
            assert seconds
            calls.append(command)
            return EFA + HEAD + END

        monkeypatch.setattr(Path, "glob", glob)
        monkeypatch.setattr(collectives, "probe", probe)
        return calls

    def test_the_newest_one_has_a_process_for_each_gpu_of_both(
        self, asked: list[tuple[str, ...]]
    ) -> None:
        assert list(all_reduce(NODES, 400.0, 0.5)) == [(ALL_REDUCE, 220.921)]
        command = " ".join(asked[0])
        assert " -n 16 -N 8 " in command
        assert "PATH=/opt/slurm/bin:" in command
        assert "/usr/local/cuda-12.10/efa/test-cuda-12.10/all_reduce_perf -b 2G -e 2G" in command
        assert "-x LD_LIBRARY_PATH=/usr/local/cuda-12.10/lib:/opt/amazon/efa/lib:" in command

    def test_more_than_two_nodes_are_a_ring(self, asked: list[tuple[str, ...]]) -> None:
        found = list(all_reduce((*NODES, "n3"), 500.0, 0.5))
        low = "all-reduce reaches 220.921 of the 500 GB/s that EFA allows"
        assert found == [(RING_ALL_REDUCE, 220.921), told(low, "rings")]
        assert " -n 24 -N 8 " in " ".join(asked[0])
        assert "NCCL_ALGO=Ring" in asked[0]

    def test_a_pair_takes_what_nccl_finds_best(self, asked: list[tuple[str, ...]]) -> None:
        list(all_reduce(NODES, 400.0, 0.5))
        assert "NCCL_ALGO=Ring" not in asked[0]

    def test_a_program_that_fails_says_nothing_of_the_nodes(
        self, asked: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(*_: str, seconds: float) -> str:
            raise ProbeFailed(f"no answer within {seconds:g} s")

        monkeypatch.setattr(collectives, "probe", fails)
        found = list(all_reduce(NODES, 400.0, 0.5))
        assert found == [told("all_reduce_perf: no answer within 300 s")]
        assert not asked

    def test_wrong_sums_are_told_though_the_program_ends_badly(
        self, asked: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(*_: str, seconds: float) -> str:
            error = ProbeFailed(f"mpirun noticed that a process ended within {seconds:g} s")
            error.said = HEAD + END.replace("0 OK", "3 FAILED")
            raise error

        monkeypatch.setattr(collectives, "probe", fails)
        found = list(all_reduce(NODES, 400.0, 0.5))
        assert found == [told("all_reduce_perf: its sums are wrong")]
        assert not asked

    def test_an_image_without_it_is_told(
        self, asked: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Path, "glob", lambda *_: [])
        (finding,) = all_reduce(NODES, 400.0, 0.5)
        assert finding == told("there is no all_reduce_perf: the exchange of GPUs was not measured")
        assert not asked
