"""What fi_pingpong prints, and what is read from it.

The tables are published ones: two nodes of AWS with EFA (ComputeCanada/puppet-magic_castle#331, the
client's), and one of a test of AWS's installer. libfabric 1.17 prints the same columns here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from slurmpod_checks import latency
from slurmpod_checks.latency import EFA_LATENCY, EFA_RATE, efa_exchange, read
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed, ProbeMissing

FAR = """\
bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64      10      =10      1.2k        0.04s      0.03    2059.35       0.00
256     10      =10      5k          0.00s      7.20      35.55       0.03
1k      10      =10      20k         0.00s     42.05      24.35       0.04
4k      10      =10      80k         0.00s    144.48      28.35       0.04
64k     10      =10      1.2m        0.00s    466.12     140.60       0.01
1m      10      =10      20m         0.01s   2185.67     479.75       0.00
"""
NEAR = """\
bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64      10      =10      1.2k        0.02s      0.08     803.40       0.00
256     10      =10      5k          0.00s     30.66       8.35       0.12
1k      10      =10      20k         0.00s    128.00       8.00       0.12
4k      10      =10      80k         0.00s    490.54       8.35       0.12
64k     10      =10      1.2m        0.00s   4566.97      14.35       0.07
1m      10      =10      20m         0.00s  15397.59      68.10       0.01
"""
USAGE = "Options:\n -d <domain>          domain name\n -p <provider>        provider name\n"
REFUSED = "[error] util/pingpong.c:408 : failed to connect: Connection refused\n"
NODES = ("ip-10-0-1-7", "ip-10-0-1-8")


def told(detail: str) -> Finding:
    return Finding("pairs", Verdict.REPORTED, detail)


def test_the_worst_interface_counts() -> None:
    found = dict(read([("rdmap0s6", NEAR), ("rdmap32s27", FAR)]))  # type: ignore[arg-type]
    assert found == {EFA_LATENCY: 24.35, EFA_RATE: 2185.67}


@pytest.mark.parametrize("said", ["fi_getinfo: -61 (No data available)\n", FAR[: FAR.index("1m ")]])
def test_an_interface_without_numbers_is_told(said: str) -> None:
    """Numbers of the others would hide it."""
    (finding,) = read([("rdmap0s6", NEAR), ("rdmap32s27", said)])
    last = said.strip().splitlines()[-1]
    assert finding == told(f"fi_pingpong over rdmap32s27 says '{last}'")


class TestProgram:
    @pytest.fixture
    def servers(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
        """The servers that were started; the other node answers for each interface."""
        started: list[tuple[str, ...]] = []

        class Server(subprocess.Popen[bytes]):
            def __init__(self, command: Sequence[str], **_: object) -> None:
                started.append(tuple(command))

            def __exit__(self, *_: object) -> None:
                assert self.killed

            def __del__(self, *_: object) -> None: ...

            def kill(self) -> None:
                self.killed = True

        monkeypatch.setenv("SLURMD_NODENAME", NODES[0])
        monkeypatch.setattr(latency, "efa_devices", lambda: ["rdmap0s6", "rdmap32s27"])
        monkeypatch.setattr(subprocess, "Popen", Server)
        monkeypatch.setattr(latency, "text_of", str)
        return started

    def answer(self, monkeypatch: pytest.MonkeyPatch, usage: str) -> list[tuple[str, ...]]:
        asked: list[tuple[str, ...]] = []

        def probe(*command: str, seconds: float) -> str:
            assert seconds
            asked.append(command)
            if "-h" in command:
                error = ProbeFailed("usage")
                error.said = usage
                raise error
            return json.dumps([("rdmap0s6", NEAR), ("rdmap32s27", FAR)])

        monkeypatch.setattr(latency, "probe", probe)
        return asked

    def test_each_interface_has_a_server_and_a_port(
        self, servers: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = self.answer(monkeypatch, USAGE)
        assert dict(efa_exchange(NODES)) == {EFA_LATENCY: 24.35, EFA_RATE: 2185.67}  # type: ignore[arg-type]
        step = asked[-1]
        assert f"--nodelist={NODES[1]}" in step
        address, *ports = step[step.index("10.0.1.7") :]
        assert [(each[-3], each[-1]) for each in servers] == [
            ("rdmap0s6-rdm", ports[0]),
            ("rdmap32s27-rdm", ports[1]),
        ]
        assert address not in servers[0]
        assert "-f" not in servers[0]

    def test_the_fabric_is_named_where_the_program_can_be_told(
        self, servers: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.answer(monkeypatch, f"{USAGE} -f <fabric>          fabric name\n")
        list(efa_exchange(NODES))
        assert "-f efa" in " ".join(servers[0])

    def test_an_image_without_it_is_told(
        self, servers: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def missing(*_: str, seconds: float) -> str:
            raise ProbeMissing(f"{seconds}")

        monkeypatch.setattr(latency, "probe", missing)
        (finding,) = efa_exchange(NODES)
        assert finding == told("there is no fi_pingpong: the latency of EFA was not measured")
        assert not servers

    def test_a_node_without_efa_says_nothing(
        self, servers: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(latency, "efa_devices", list)
        assert not list(efa_exchange(NODES))
        assert not servers


def test_a_client_waits_for_its_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tries: list[tuple[str, ...]] = []

    def probe(*command: str, seconds: float) -> str:
        assert seconds
        if "-h" in command:
            return USAGE
        tries.append(command)
        if len(tries) == 1:
            error = ProbeFailed("refused")
            error.said = REFUSED
            raise error
        return NEAR

    monkeypatch.setattr(latency, "probe", probe)
    monkeypatch.setattr(latency, "efa_devices", lambda: ["rdmap0s6"])
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["-c", "10.0.1.7", "47999"])
    latency.start()
    assert json.loads(capsys.readouterr().out) == [["rdmap0s6", NEAR]]
    assert len(tries) == 2
    assert tries[0][-5:] == ("-d", "rdmap0s6-rdm", "-P", "47999", "10.0.1.7")
