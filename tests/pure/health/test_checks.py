"""What each check makes of what it sees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmpod_health import clock, disks, efa, hardware
from slurmpod_health.checks import run_checks
from slurmpod_health.expectations import Expectations, SharedFolder
from slurmpod_health.finding import Finding, Verdict, reason, table
from slurmpod_health.probe import ProbeFailed, ProbeMissing, ProbeTimedOut

NODE = Expectations(
    node="ip-10-0-1-5",
    accelerator_kind="gpu",
    accelerators=4,
    efa_interfaces=2,
    scratch=None,
    shared_folders=(),
    free_mib_on_root=0,
)
SHARED = SharedFolder("/fsx", writable=True)
MOUNTED = "10.0.0.1@tcp:/abc /fsx lustre rw 0 0\n"
H200S = "".join(
    f"GPU {n}: NVIDIA H200 (UUID: GPU-4328c804-1111-2222-3333-44445555666{n})\n" for n in range(4)
)
"""As driver 580.159 prints them."""


def answers(said: str | ProbeFailed) -> Callable[..., str]:
    def probe(*_: str, seconds: float) -> str:
        assert seconds
        if isinstance(said, ProbeFailed):
            raise said
        return said

    return probe


class TestAccelerators:
    @pytest.mark.parametrize(
        ("kind", "said", "verdict", "detail"),
        [
            ("gpu", H200S, Verdict.GOOD, "4 accelerators"),
            ("gpu", "GPU 0: A10G\n  MIG 1g: x\n", Verdict.BAD, "1 of 4 accelerators"),
            ("gpu", ProbeFailed("lost"), Verdict.BAD, "0 of 4 accelerators (nvidia-smi: lost)"),
            ("gpu", ProbeTimedOut("too slow"), Verdict.REPORTED, "nvidia-smi: too slow"),
            ("gpu", "", Verdict.REPORTED, "nvidia-smi said nothing"),
            ("gpu", ProbeMissing("none"), Verdict.GOOD, "4 accelerators"),
            ("neuron", '[{"neuron_device": 0}, {"neuron_device": 1}]', Verdict.BAD, "2 of 4 "),
        ],
    )
    def test_are_counted(
        self,
        monkeypatch: pytest.MonkeyPatch,
        kind: str,
        said: Any,
        verdict: Verdict,
        detail: str,
    ) -> None:
        monkeypatch.setattr(hardware, "probe", answers(said))
        monkeypatch.setattr(hardware, "_device_files", lambda _: 4)
        expected = Expectations(**{**vars(NODE), "accelerator_kind": kind})
        found = hardware.check_accelerators(expected)
        assert found is not None
        assert found.verdict is verdict
        assert found.detail.startswith(detail)

    def test_are_there_although_their_tool_complains_of_something_else(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        warned = ProbeFailed("WARNING: infoROM is corrupted at gpu 0000:10:1C.0")
        warned.said = "".join(f"GPU {n}: A10G\n" for n in range(4)) + f"{warned}\n"
        monkeypatch.setattr(hardware, "probe", answers(warned))
        found = hardware.check_accelerators(NODE)
        assert found == Finding("accelerators", Verdict.REPORTED, f"nvidia-smi: {warned}")

    def test_are_nobodys_business_where_there_are_none(self) -> None:
        assert (
            hardware.check_accelerators(Expectations(**{**vars(NODE), "accelerators": 0})) is None
        )


class TestEfa:
    @pytest.mark.parametrize(
        ("drivers", "verdict", "detail"),
        [
            ((), Verdict.REPORTED, "0 of 2 EFA interfaces"),
            (("efa",), Verdict.BAD, "1 of 2 EFA interfaces"),
            (("efa", "efa"), Verdict.GOOD, "2 EFA interfaces"),
            (("efa", "mlx5_core"), Verdict.BAD, "1 of 2 EFA interfaces"),
            (("efa", None), Verdict.BAD, "1 of 2 EFA interfaces"),
            (("mlx5_core", "mlx5_core"), Verdict.REPORTED, "0 of 2 EFA interfaces"),
        ],
    )
    def test_some_that_are_missing_are_a_fault_but_none_is_a_kind_of_group(
        self,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        drivers: tuple[str | None, ...],
        verdict: Verdict,
        detail: str,
    ) -> None:
        monkeypatch.setattr(efa, "DEVICES", rdma_devices(tmp_path, drivers))
        assert hardware.check_efa(NODE) == Finding("efa", verdict, detail)


def rdma_devices(sys: Path, drivers: tuple[str | None, ...]) -> Path:
    """Make what sysfs shows: each device is a link, and a link of its own leads to its driver."""
    devices = sys / "class" / "infiniband"
    devices.mkdir(parents=True)
    for number, driver in enumerate(drivers):
        pci = sys / "devices" / f"0000:00:0{number}.0"
        (pci / "infiniband" / f"rdmap{number}").mkdir(parents=True)
        (pci / "infiniband" / f"rdmap{number}" / "device").symlink_to("../..")
        (devices / f"rdmap{number}").symlink_to(pci / "infiniband" / f"rdmap{number}")
        if driver:
            (sys / "bus" / "pci" / "drivers" / driver).mkdir(parents=True, exist_ok=True)
            (pci / "driver").symlink_to(f"../../bus/pci/drivers/{driver}")
    return devices


class TestFolders:
    @pytest.mark.parametrize(
        ("mounts", "said", "verdict"),
        [
            (MOUNTED, "", Verdict.GOOD),
            ("", "", Verdict.BAD),
            ("systemd-1 /fsx autofs rw 0 0\n", "", Verdict.BAD),
            ("", ProbeFailed("No such device"), Verdict.BAD),
            (MOUNTED, ProbeFailed("Cannot send after transport endpoint"), Verdict.REPORTED),
            ("", ProbeTimedOut("no answer"), Verdict.REPORTED),
        ],
    )
    def test_shared_storage_drains_only_where_it_is_not_mounted(
        self,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        mounts: str,
        said: Any,
        verdict: Verdict,
    ) -> None:
        (tmp_path / "mounts").write_text(mounts)
        monkeypatch.setattr(disks, "MOUNTS", tmp_path / "mounts")
        monkeypatch.setattr(disks, "probe", answers(said))
        assert disks.check_shared(SHARED, NODE.node).verdict is verdict

    @pytest.mark.parametrize(
        ("said", "verdict"),
        [("No space left on device", Verdict.REPORTED), ("Read-only file system", Verdict.BAD)],
    )
    def test_scratch_drains_when_it_is_broken_but_not_when_jobs_have_filled_it(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, verdict: Verdict
    ) -> None:
        (tmp_path / "mounts").write_text("/dev/md0 /scratch xfs rw 0 0\n")
        monkeypatch.setattr(disks, "MOUNTS", tmp_path / "mounts")
        monkeypatch.setattr(disks, "probe", answers(ProbeFailed(f"dd: /scratch: {said}")))
        own = disks.check_scratch("/scratch", NODE.node)
        assert own.verdict is verdict
        assert own.detail == f"/scratch cannot be written: dd: /scratch: {said}"

    def test_a_disk_that_is_only_slow_drains_nobody(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "mounts").write_text("/dev/md0 /scratch xfs rw 0 0\n")
        monkeypatch.setattr(disks, "MOUNTS", tmp_path / "mounts")
        monkeypatch.setattr(disks, "probe", answers(ProbeTimedOut("no answer within 2 s")))
        assert disks.check_scratch("/scratch", NODE.node).verdict is Verdict.REPORTED


class TestClock:
    @pytest.mark.parametrize(
        ("offset", "leap", "verdict"),
        [
            ("0.000012", "Normal", Verdict.GOOD),
            ("-11.5", "Normal", Verdict.BAD),
            ("0.0", "Not synchronised", Verdict.REPORTED),
            ("odd", "Normal", Verdict.REPORTED),
        ],
    )
    def test_is_judged_by_its_offset(self, offset: str, leap: str, verdict: Verdict) -> None:
        line = f"A9FEA97B,169.254.169.123,4,1.0,{offset},0,0,0,0,0,0,0,16.1,{leap}\n"
        assert clock.judge_tracking(line).verdict is verdict


class TestTogether:
    def test_a_check_that_fails_by_itself_drains_nobody(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(_: Expectations) -> Finding:
            raise RuntimeError("a mistake")

        monkeypatch.setattr(hardware, "check_accelerators", broken)
        monkeypatch.setattr(clock, "check", lambda: None)
        findings = run_checks(Expectations(**{**vars(NODE), "efa_interfaces": 0}))
        assert findings[0] == Finding("health check", Verdict.REPORTED, "RuntimeError: a mistake")
        assert not reason(findings)

    def test_the_reason_names_only_what_is_bad(self) -> None:
        findings = [
            Finding("efa", Verdict.BAD, "1 of 2 EFA interfaces"),
            Finding("clock", Verdict.REPORTED, "the clock is not synchronised"),
            Finding("root disk", Verdict.BAD, "7 MiB free on /"),
        ]
        assert reason(findings) == "1 of 2 EFA interfaces; 7 MiB free on /"
        assert "clock      reported  the clock is not synchronised\n" in table(findings)
