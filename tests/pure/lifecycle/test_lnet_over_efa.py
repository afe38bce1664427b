"""The program that lets Lustre use EFA, on a machine that keeps the state of LNet."""

from __future__ import annotations

import pytest

from slurmpod_lifecycle.lnet_over_efa import DEVICES, chosen, configure, main
from slurmpod_lifecycle.machine import RUN_BY_HAND
from slurmpod_lifecycle.step import CommandFailed, StepFailed
from tests.pure.lifecycle.living_machine import LivingMachine

ADDRESS = "10.0.128.20"


class LnetMachine(LivingMachine):
    """A machine with EFA devices, whose LNet is what `lnetctl` has made of it."""

    def __init__(self, *devices: str, driver: str = "efa") -> None:
        super().__init__()
        self.folders.add(DEVICES)
        self.reply(f"ls {DEVICES}", "\n".join(devices))
        self.reply("readlink", f"/sys/bus/pci/drivers/{driver}\n")
        self.reply("ip ", "ens32  UP  10.0.128.20/17 \n")
        self.interfaces: list[tuple[str, str]] = []
        self.preferred: list[str] = []
        self.state_of_interfaces = "up"

    def _lnetctl(self, *words: str) -> str:
        match words:
            case ("net", "show", *nets):
                shown = [each for each in self.interfaces if not nets or each[0] in nets]
                return "".join(map(self._shown, shown))
            case ("net", "add", net, interface, *_):
                if (net, interface) in self.interfaces:
                    raise CommandFailed("File exists", RUN_BY_HAND)
                self.interfaces.append((net, interface))
            case ("udsp", "show"):
                return "\n".join(self.preferred)
            case ("udsp", "add", net, _):
                self.preferred.append(f"- src: {net}")
        return ""

    def _shown(self, interface: tuple[str, str]) -> str:
        net, name = interface
        lines = (
            f"- nid: 1.2.3.4@{net}",
            f"  status: {self.state_of_interfaces}",
            f"      0: {name}",
        )
        return "".join(f"{line}\n" for line in lines)


class TestLnet:
    def test_both_networks_are_there_and_efa_comes_first(self) -> None:
        machine = LnetMachine("rdmap79s0", "rdmap96s0")
        assert configure(machine, ADDRESS, "g6e.48xlarge") == "Lustre has 2 EFA interfaces"
        assert machine.interfaces == [("tcp", "ens32"), ("efa", "rdmap79s0"), ("efa", "rdmap96s0")]
        assert machine.preferred == ["- src: efa"]
        assert "ip -brief -4 address show to 10.0.128.20" in machine.ran
        assert "modprobe kefalnd ipif_name=ens32" in machine.ran
        assert machine.ran.index("modprobe lnet") < machine.ran.index("modprobe lustre")

    def test_running_it_again_adds_nothing(self) -> None:
        machine = LnetMachine("rdmap79s0", "rdmap96s0")
        configure(machine, ADDRESS, "")
        machine.ran = []
        configure(machine, ADDRESS, "")
        assert not machine.did("lnetctl net add")
        assert not machine.did("lnetctl udsp add")

    def test_whatever_cuts_it_off_the_next_run_completes_it(self) -> None:
        whole = LnetMachine("rdmap79s0", "rdmap96s0")
        configure(whole, ADDRESS, "")
        for boundary in range(1, whole.changes + 1):
            machine = LnetMachine("rdmap79s0", "rdmap96s0")
            with machine.killed_after(boundary):
                configure(machine, ADDRESS, "")
            configure(machine, ADDRESS, "")
            assert machine.interfaces == whole.interfaces
            assert machine.preferred == ["- src: efa"]

    def test_an_interface_that_is_a_part_of_anothers_name_is_added_too(self) -> None:
        machine = LnetMachine("rdmap7s0")
        machine.interfaces = [("efa", "rdmap7s01")]
        configure(machine, ADDRESS, "")
        assert ("efa", "rdmap7s0") in machine.interfaces

    def test_an_interface_that_does_not_come_up_is_told(self) -> None:
        machine = LnetMachine("rdmap79s0", "rdmap96s0")
        machine.state_of_interfaces = "down"
        with pytest.raises(StepFailed, match="0 of 2 EFA interfaces of LNet are up"):
            configure(machine, ADDRESS, "")

    def test_other_rdma_devices_are_no_efa(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(LnetMachine("mlx5_0", driver="mlx5_core"), ADDRESS, "") == 1
        assert capsys.readouterr().err.startswith("error: this node has no EFA device")

    def test_the_program_says_what_it_did(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(LnetMachine("rdmap79s0"), ADDRESS, "") == 0
        assert capsys.readouterr().out == "Lustre has 1 EFA interfaces\n"


class TestChoice:
    @pytest.mark.parametrize(
        ("instance_type", "devices", "count"),
        [
            ("p5.48xlarge", 32, 8),
            ("p5en.48xlarge", 16, 8),
            ("p6-b300.48xlarge", 16, 16),
            ("p5.48xlarge", 4, 4),
            ("g6e.48xlarge", 4, 2),
            ("", 1, 1),
        ],
    )
    def test_as_many_as_fsx_documents(self, instance_type: str, devices: int, count: int) -> None:
        names = [f"rdmap{number}s0" for number in range(devices)]
        found = chosen(names, instance_type)
        assert len(found) == len(set(found)) == count

    def test_they_are_spread_over_the_buses(self) -> None:
        names = [f"rdmap{bus}s0" for bus in (201, 79, 113, 96)]
        assert chosen(names, "g6e.48xlarge") == ["rdmap79s0", "rdmap113s0"]

    def test_a_node_without_devices_has_none(self) -> None:
        assert chosen([], "p5.48xlarge") == []
