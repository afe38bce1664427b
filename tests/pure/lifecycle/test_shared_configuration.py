"""The program that keeps the files of two controllers the same, in folders of a test."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.steps.shared_configuration import KEPT, SharedConfiguration, program
from tests.pure.lifecycle.fakes import controller_of_two, machine_of, node


class Controllers:
    """Two controllers in folders, and what each of them asked of slurmctld."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written_at = 1_700_000_000
        for name in ("first", "second"):
            (folder / name).mkdir()
            self.write(name, "slurm.conf", "ClusterName=dev\n")
            self._make_keeper(folder / name)

    def _make_keeper(self, own: Path) -> None:
        """Write a program that asks slurmctld to read what it has not read yet (slurm_files)."""
        in_force = own / "slurmpod.conf.in-force"
        in_force.touch()
        (own / "keep").write_text(
            f"[ -e {in_force} ] || {{ echo reconfigure >>{own}/asked; touch {in_force}; }}\n"
        )

    def write(self, controller: str, name: str, text: str) -> None:
        """Write a file, a minute after the one before."""
        path = self.folder / controller / name
        path.write_text(text)
        self.written_at += 60
        os.utime(path, (self.written_at, self.written_at))

    def read(self, controller: str, name: str = "slurm.conf") -> str:
        return (self.folder / controller / name).read_text()

    def look(self, controller: str, *, just_written: bool = False, meanwhile: str = "") -> None:
        """Let a controller look; files count as written some time ago.

        `meanwhile` is another one, which looks when this one has seen and not yet written.
        """
        text = self._program(controller)
        if just_written:
            os.utime(self.folder / controller / "slurm.conf")
        else:
            text = f"find() {{ :; }}\n{text}"
        if meanwhile:
            other = self.folder / "meanwhile.sh"
            other.write_text(f"find() {{ :; }}\n{self._program(meanwhile)}")
            once = f"[ ! -e {other} ] || {{ sh {other}; rm {other}; }}"
            text = f'cp() {{ {once}; command cp "$@"; }}\n{text}'
        subprocess.run(["sh", "-c", text], check=True)

    def _program(self, controller: str) -> str:
        own = self.folder / controller
        text = program(f"{self.folder}/shared/state").replace("/opt/slurm/etc", str(own))
        text = text.replace(KEPT, f"{own}/kept")
        outside = f"uname() {{ echo {controller}; }}\nsystemctl() {{ . {own}/keep; }}\n"
        return f"{outside}{text}"

    def look_in_turn(self) -> None:
        for _ in range(2):
            self.look("first")
            self.look("second")

    def asked(self, controller: str) -> int:
        asked = self.folder / controller / "asked"
        return asked.read_text().count("reconfigure") if asked.exists() else 0


@pytest.fixture
def two(tmp_path: Path) -> Controllers:
    controllers = Controllers(tmp_path)
    controllers.look_in_turn()
    return controllers


@pytest.mark.parametrize(("writer", "other"), [("first", "second"), ("second", "first")])
@pytest.mark.parametrize("name", ["slurm.conf", "gres.conf", "topology.yaml"])
def test_what_hyperpod_wrote_on_one_is_on_both(
    two: Controllers, writer: str, other: str, name: str
) -> None:
    two.write(writer, name, "PartitionName=new\n")
    two.look_in_turn()
    assert two.read(other, name) == two.read(writer, name) == "PartitionName=new\n"
    assert two.asked(other) == 1


def test_a_keeper_that_had_looked_before_is_started_again(two: Controllers) -> None:
    two.write("first", "slurm.conf", "PartitionName=new\n")
    keep = two.folder / "second" / "keep"
    keep.write_text(f"[ -e {keep}.ran ] || {{ touch {keep}.ran; return 0; }}\n{keep.read_text()}")
    two.look_in_turn()
    assert two.asked("second") == 1


def test_nothing_happens_while_they_agree(two: Controllers) -> None:
    two.look_in_turn()
    assert two.asked("first") == two.asked("second") == 0


@pytest.mark.parametrize(("looks", "waits"), [("first", "second"), ("second", "first")])
def test_of_two_changes_the_later_is_on_both_in_the_end(
    two: Controllers, looks: str, waits: str
) -> None:
    two.write("first", "slurm.conf", "ClusterName=one\n")
    two.write("second", "slurm.conf", "ClusterName=two\n")
    for controller in (looks, waits, looks):
        two.look(controller)
    assert two.read("first") == two.read("second") == "ClusterName=two\n"


def test_a_first_look_takes_what_was_written_meanwhile(tmp_path: Path) -> None:
    controllers = Controllers(tmp_path)
    controllers.look("first")
    controllers.write("first", "slurm.conf", "PartitionName=new\n")
    controllers.look_in_turn()
    assert controllers.read("first") == controllers.read("second") == "PartitionName=new\n"


@pytest.mark.parametrize(("looks", "meanwhile"), [("first", "second"), ("second", "first")])
def test_two_first_looks_in_the_same_moment_lose_nothing(
    tmp_path: Path, looks: str, meanwhile: str
) -> None:
    controllers = Controllers(tmp_path)
    controllers.write("first", "slurm.conf", "PartitionName=new\n")
    controllers.look(looks, meanwhile=meanwhile)
    controllers.look_in_turn()
    assert controllers.read("first") == controllers.read("second") == "PartitionName=new\n"


def test_news_count_where_the_clock_is_behind(two: Controllers) -> None:
    two.write("first", "slurm.conf", "ClusterName=one\n")
    two.look_in_turn()
    two.written_at -= 3600
    two.write("second", "slurm.conf", "ClusterName=two\n")
    two.look_in_turn()
    assert two.read("first") == two.read("second") == "ClusterName=two\n"


def test_half_a_file_is_handed_to_nobody(two: Controllers) -> None:
    two.write("first", "slurm.conf", "Clu")
    two.look("first", just_written=True)
    two.look("second")
    assert two.read("second") == "ClusterName=dev\n"


def test_a_second_run_finds_it_done() -> None:
    step = SharedConfiguration(controller_of_two())
    assert not step.is_done()
    step.apply()
    assert step.is_done()
    text = machine_of(step.node).files["/usr/local/sbin/slurmpod-shared-configuration"]
    assert "shared=/fsx/slurmpod/dev/etc\n" in text


def test_one_controller_has_nothing_to_share() -> None:
    assert not SharedConfiguration.applies_to(node(Role.CONTROLLER))
