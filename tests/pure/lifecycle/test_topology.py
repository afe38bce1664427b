"""The program that repairs a topology which is named but not described, in a folder of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.slurm_files import TOPOLOGY_PROGRAM
from slurmpod_lifecycle.steps.topology import DROP_IN_PATH, MARK, PROGRAM_TEXT, Topology
from tests.pure.lifecycle.fakes import machine_of, node

NAMED = "ClusterName=dev\nTopologyPlugin=topology/tree\nPartitionName=dev Nodes=ALL\n"
LEFT_OUT = NAMED.replace("TopologyPlugin", f"{MARK}TopologyPlugin")
DESCRIBED = "SwitchName=s0 Nodes=ip-10-0-0-[1-2]\n"


def repaired(folder: Path, **files: str) -> tuple[str, set[str]]:
    """Run the program where these files are; return slurm.conf and the names of the others."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    program = PROGRAM_TEXT.replace("/opt/slurm/etc", str(folder))
    subprocess.run(["sh", "-c", program], check=True)
    conf = folder / "slurm.conf"
    others = {path.name for path in folder.iterdir()} - {"slurm.conf"}
    return conf.read_text() if conf.exists() else "", others


class TestProgram:
    @pytest.mark.parametrize("plugin", ["topology/tree", "topology/block", "Topology/Tree"])
    def test_leaves_out_what_nothing_describes(self, tmp_path: Path, plugin: str) -> None:
        conf, _ = repaired(tmp_path, slurm_conf=f"TopologyPlugin = {plugin}\nClusterName=dev\n")
        assert conf == f"{MARK}TopologyPlugin = {plugin}\nClusterName=dev\n"

    @pytest.mark.parametrize("name", ["topology_yaml", "topology_conf"])
    @pytest.mark.parametrize("text", ["", "\n", "# nothing\n \n"])
    def test_puts_an_empty_file_aside(self, tmp_path: Path, name: str, text: str) -> None:
        conf, others = repaired(tmp_path, slurm_conf=NAMED, **{name: text})
        assert conf == LEFT_OUT
        assert others == {f"{name.replace('_', '.')}.empty"}

    @pytest.mark.parametrize("name", ["topology_yaml", "topology_conf"])
    def test_leaves_a_described_topology_alone(self, tmp_path: Path, name: str) -> None:
        conf, others = repaired(tmp_path, slurm_conf=NAMED, **{name: DESCRIBED})
        assert conf == NAMED
        assert others == {name.replace("_", ".")}

    def test_names_it_again_once_it_is_described(self, tmp_path: Path) -> None:
        assert repaired(tmp_path, slurm_conf=NAMED)[0] == LEFT_OUT
        assert repaired(tmp_path)[0] == LEFT_OUT
        assert repaired(tmp_path, topology_conf=DESCRIBED)[0] == NAMED

    @pytest.mark.parametrize(
        "conf", ["ClusterName=dev\n", "TopologyPlugin=topology/flat\n", "#TopologyPlugin=none\n"]
    )
    def test_has_nothing_to_do_without_one(self, tmp_path: Path, conf: str) -> None:
        assert repaired(tmp_path, slurm_conf=conf)[0] == conf

    def test_waits_for_slurm_conf(self, tmp_path: Path) -> None:
        assert repaired(tmp_path) == ("", set())


class TestStep:
    def test_slurmctld_runs_it_before_every_start(self) -> None:
        step = Topology(node(Role.CONTROLLER))
        assert not step.is_done()
        step.apply()
        assert step.is_done()
        machine = machine_of(step.node)
        assert machine.access[TOPOLOGY_PROGRAM] == (0o755, "")
        assert f"ExecStartPre=-+{TOPOLOGY_PROGRAM}\n" in machine.files[DROP_IN_PATH]

    def test_hyperpods_own_slurm_is_left_to_hyperpod(self) -> None:
        assert not Topology.applies_to(node(Role.CONTROLLER, mode=Mode.EXTENDED))
