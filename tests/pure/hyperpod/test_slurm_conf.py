from dataclasses import replace

from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.hyperpod.slurm_conf import (
    SLURM_CONF,
    TOPOLOGY_CONF,
    Controller,
    SlurmLayout,
    SlurmNode,
    slurm_files,
)

LOGIN = SlurmNode("ip-10-0-0-5", "10.0.0.5", 1, 1, 2, 8192, gpus=0, partition=None)
GPU_1 = SlurmNode("ip-10-0-0-6", "10.0.0.6", 2, 24, 2, 2097152, gpus=8, partition="p5")
GPU_2 = SlurmNode("ip-10-0-0-7", "10.0.0.7", 2, 24, 2, 2097152, gpus=8, partition="p5")


LAYOUT = SlurmLayout(
    cluster_name="demo",
    controllers=(Controller("ip-10-0-0-4", "10.0.0.4"),),
    nodes=(LOGIN, GPU_1, GPU_2),
    partitions=("p5", "empty"),
    without_on_create=False,
)


def files(layout: SlurmLayout = LAYOUT, *profiles: str) -> dict[str, list[str]]:
    rendered = slurm_files(layout, load(profiles).profile.slurm_conf)
    return {path: content.decode().splitlines() for path, content in rendered.items()}


class TestSlurmFiles:
    def test_names_the_controller_with_its_address(self) -> None:
        assert "SlurmctldHost=ip-10-0-0-4(10.0.0.4)" in files()[SLURM_CONF]

    def test_lists_login_nodes_and_workers_with_their_processors(self) -> None:
        nodes = [line for line in files()[SLURM_CONF] if line.startswith("NodeName=")]
        assert [line.split()[0] for line in nodes] == [
            "NodeName=ip-10-0-0-5",
            "NodeName=ip-10-0-0-6",
            "NodeName=ip-10-0-0-7",
        ]
        assert "CPUs=96 RealMemory=2097152 Sockets=2 CoresPerSocket=24 ThreadsPerCore=2" in nodes[1]
        assert "Gres=gpu:8" in nodes[1]
        assert "Gres" not in nodes[0]

    def test_all_nodes_are_in_dev_and_workers_in_their_own_partition_too(self) -> None:
        partitions = [line for line in files()[SLURM_CONF] if line.startswith("PartitionName=")]
        assert partitions[0].startswith("PartitionName=dev Nodes=ALL Default=YES")
        assert partitions[1].startswith("PartitionName=p5 Nodes=ip-10-0-0-6,ip-10-0-0-7 ")
        assert len(partitions) == 3

    def test_a_partition_may_be_empty(self) -> None:
        assert "PartitionName=empty MaxTime=INFINITE State=UP" in files()[SLURM_CONF]

    def test_several_controllers_have_a_line_each_the_primary_one_first(self) -> None:
        heads = (*LAYOUT.controllers, Controller("ip-10-0-0-9", "10.0.0.9"))
        lines = files(replace(LAYOUT, controllers=heads))[SLURM_CONF]
        assert [line for line in lines if line.startswith("SlurmctldHost=")] == [
            "SlurmctldHost=ip-10-0-0-4(10.0.0.4)",
            "SlurmctldHost=ip-10-0-0-9(10.0.0.9)",
        ]

    def test_accounting_is_included_where_hyperpod_sets_it_up(self) -> None:
        assert "include accounting.conf" not in files()[SLURM_CONF]
        lines = files(replace(LAYOUT, without_on_create=True))[SLURM_CONF]
        assert "include accounting.conf" in lines

    def test_gpus_are_declared_where_hyperpod_sets_slurm_up(self) -> None:
        assert "GresTypes=gpu" not in files()[SLURM_CONF]
        assert "GresTypes=gpu" in files(replace(LAYOUT, without_on_create=True))[SLURM_CONF]

    def test_every_gpu_has_a_device(self) -> None:
        assert files()["/opt/slurm/etc/gres.conf"] == [
            "NodeName=ip-10-0-0-6 Name=gpu File=/dev/nvidia[0-7]",
            "NodeName=ip-10-0-0-7 Name=gpu File=/dev/nvidia[0-7]",
        ]

    def test_a_topology_is_described_where_a_node_has_gpus(self) -> None:
        described = files(LAYOUT, "ami-2026-07")
        names = "ip-10-0-0-5,ip-10-0-0-6,ip-10-0-0-7"
        assert described[TOPOLOGY_CONF][-1] == f"SwitchName=nn-424c Nodes={names}"
        assert "TopologyPlugin=topology/tree" in described[SLURM_CONF]
        assert [*described][-1] == SLURM_CONF
        for without in (
            files(LAYOUT, "ami-2026-01"),
            files(replace(LAYOUT, nodes=(LOGIN,)), "ami-2026-07"),
        ):
            assert TOPOLOGY_CONF not in without
            assert not [line for line in without[SLURM_CONF] if "Topology" in line]

    def test_slurm_conf_comes_last_because_scripts_wait_for_it(self) -> None:
        assert list(files())[-1] == SLURM_CONF
