from slurmpod.rehearsal.hyperpod.slurm_conf import partition_drift, rewritten

CURRENT = """\
ClusterName=demo
SlurmctldHost=ip-10-0-0-4(10.0.0.4)
TaskPlugin=task/none
NodeName=ip-10-0-0-5 CPUs=2 State=CLOUD Feature=fast
NodeName=ip-10-0-0-6 CPUs=2 State=CLOUD
PartitionName=dev Nodes=ALL Default=YES
PartitionName=cpu Nodes=ip-10-0-0-5,ip-10-0-0-6 MaxTime=1-0 State=UP
PartitionName=mine Nodes=ip-10-0-0-5
include accounting.conf
"""
WANTED = """\
ClusterName=demo
SlurmctldHost=ip-10-0-0-4(10.0.0.4)
TaskPlugin=task/none
NodeName=ip-10-0-0-5 CPUs=2 State=CLOUD
NodeName=ip-10-0-0-7 CPUs=4 State=CLOUD
PartitionName=dev Nodes=ALL Default=YES
PartitionName=cpu Nodes=ip-10-0-0-5 MaxTime=INFINITE State=UP
PartitionName=new Nodes=ip-10-0-0-7 MaxTime=INFINITE State=UP
"""


class TestMerge:
    LINES = rewritten(CURRENT, WANTED, "Merge").splitlines()

    def test_nodes_come_and_go(self) -> None:
        nodes = [line.split()[0] for line in self.LINES if line.startswith("NodeName=")]
        assert nodes == ["NodeName=ip-10-0-0-5", "NodeName=ip-10-0-0-7"]

    def test_partitions_get_their_nodes_and_keep_what_was_added_to_them(self) -> None:
        assert "PartitionName=cpu Nodes=ip-10-0-0-5 MaxTime=1-0 State=UP" in self.LINES
        assert "PartitionName=new Nodes=ip-10-0-0-7 MaxTime=INFINITE State=UP" in self.LINES

    def test_what_others_wrote_stays(self) -> None:
        assert "NodeName=ip-10-0-0-5 CPUs=2 State=CLOUD Feature=fast" in self.LINES
        assert "PartitionName=mine Nodes=ip-10-0-0-5" in self.LINES
        assert "include accounting.conf" in self.LINES

    def test_a_partition_without_nodes_may_get_some(self) -> None:
        current = CURRENT.replace(" Nodes=ip-10-0-0-5,ip-10-0-0-6", "")
        lines = rewritten(current, WANTED, "Merge").splitlines()
        assert "PartitionName=cpu MaxTime=1-0 State=UP Nodes=ip-10-0-0-5" in lines

    def test_a_partition_that_loses_its_last_node_stays_without_any(self) -> None:
        wanted = WANTED.replace(" Nodes=ip-10-0-0-5 ", " ")
        lines = rewritten(CURRENT, wanted, "Merge").splitlines()
        assert "PartitionName=cpu MaxTime=1-0 State=UP" in lines

    def test_doing_it_again_changes_nothing(self) -> None:
        once = rewritten(CURRENT, WANTED, "Merge")
        assert rewritten(once, WANTED, "Merge") == once


def test_overwrite_forgets_what_others_wrote() -> None:
    assert rewritten(CURRENT, WANTED, "Overwrite") == WANTED


EXPECTED = {"cpu": ("ip-10-0-0-6", "ip-10-0-0-5")}


class TestDrift:
    def test_none(self) -> None:
        text = CURRENT.replace("PartitionName=mine Nodes=ip-10-0-0-5\n", "Whatever=yes\n")
        assert partition_drift(text, EXPECTED) == ""

    def test_a_partition_that_no_group_defines(self) -> None:
        assert partition_drift(CURRENT, EXPECTED) == (
            "no instance group defines the partition mine"
        )

    def test_other_nodes_in_a_partition(self) -> None:
        text = CURRENT.replace("PartitionName=mine Nodes=ip-10-0-0-5\n", "")
        assert partition_drift(text, {"cpu": ("ip-10-0-0-5",)}) == (
            "other nodes are in the partition cpu"
        )
        assert partition_drift(text, {**EXPECTED, "gone": ("ip-10-0-0-7",)}) == (
            "other nodes are in the partition gone"
        )
