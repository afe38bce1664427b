"""What Slurm's commands print, and what HyperPod's agents make of it."""

from __future__ import annotations

import subprocess

from slurmpod.rehearsal.hyperpod.slurm_control import Isolation, SlurmControl
from slurmpod.slurm.nodes import read_nodes

NODE = (
    "NodeName={name} Arch=x86_64 CPUAlloc=0 AvailableFeatures=(null) NodeHostName={name} "
    "State={state} ThreadsPerCore=1 Partitions=dev,cpu  BootTime=2026-01-01T00:00:01 "
    "SlurmdStartTime=2026-01-01T00:00:09 CurrentWatts=0 AveWatts=0  {reason}\n"
)
PLACE = Isolation("reservation", "partition", "feature")


class Machine:
    """Answers commands on the controller by how they begin; others fail."""

    def __init__(self, **answers: str) -> None:
        self.ran: list[str] = []
        self._answers = answers

    def run(
        self, hostname: str, command: list[str], **_: object
    ) -> subprocess.CompletedProcess[bytes]:
        words = " ".join(command)
        self.ran.append(words)
        for beginning, printed in self._answers.items():
            if words.startswith(beginning.replace("_", " ")):
                return subprocess.CompletedProcess([], 0, printed.encode(), b"")
        return subprocess.CompletedProcess([], 1, b"", b"refused")


def control(machine: Machine) -> SlurmControl:
    return SlurmControl(machine, "head")  # type: ignore[arg-type]


def test_states_have_flags_and_reasons() -> None:
    printed = NODE.format(name="a", state="IDLE+CLOUD", reason="") + NODE.format(
        name="b", state="ALLOCATED+CLOUD+FAIL", reason="Reason=Action:Replace [root@2026-01-01]"
    )
    states = read_nodes(printed)
    assert (states["a"].is_free, states["a"].is_held, states["a"].reason) == (True, False, "")
    assert (states["b"].is_free, states["b"].is_held) == (False, True)
    assert states["b"].reason == "Action:Replace"
    assert states["b"].started == "2026-01-01T00:00:09"


def test_a_reason_is_kept_as_it_was_given() -> None:
    reason = "Reason= Action:Replace [now] [root@2026-01-01]"
    states = read_nodes(NODE.format(name="a", state="DOWN", reason=reason))
    assert (states["a"].is_down, states["a"].reason) == (True, " Action:Replace [now]")


def test_a_star_means_that_the_node_does_not_answer() -> None:
    for state in ("DOWN*+CLOUD", "DOWN+CLOUD+NOT_RESPONDING"):
        states = read_nodes(NODE.format(name="a", state=state, reason=""))
        assert (states["a"].is_down, states["a"].answers) == (True, False)


def test_states_and_what_the_log_says_of_changes_are_asked_for_together() -> None:
    node = NODE.format(name="a", state="IDLE", reason="Reason=updates: [root@2026-01-01]")
    machine = Machine(sh=f"{node}updates:\n[t] update_node: node a state set to DOWN\n")
    states, updates = control(machine).nodes_and_updates()
    assert states["a"].reason == "updates:"
    assert updates == "[t] update_node: node a state set to DOWN\n"


def test_the_nodes_of_a_job_that_runs() -> None:
    machine = Machine(squeue="7 ip-[1-2]\n8 ip-3\n", scontrol_show_hostnames="ip-1\nip-2\n")
    assert control(machine).nodes_of("7") == ["ip-1", "ip-2"]
    assert control(machine).nodes_of("9") == []


def test_only_jobs_that_slurm_took_back_start_at_once() -> None:
    queue = "1 |BeginTime |1 |\n2 |BeginTime |0 |\n3 |Resources |1 |\n4 |None |1 |\n"
    machine = Machine(squeue=queue, scontrol_update="")
    control(machine).start_requeued_jobs()
    assert machine.ran[1:] == [f"scontrol update jobid={job} starttime=now" for job in (1, 4)]


def test_jobs_that_end_are_not_yet_requeued() -> None:
    for printed in ("", "7\n"):
        machine = Machine(squeue=printed)
        assert control(machine).is_ending_jobs() == bool(printed)


def test_messages_to_nodes_wait_or_are_under_way() -> None:
    printed = "Agent queue size:     {}\nAgent count:          {}\nAgent thread count:   4\n"
    for waiting, under_way in ((0, 0), (0, 10), (2, 0)):
        machine = Machine(sdiag=printed.format(waiting, under_way))
        assert control(machine).is_telling_nodes() == (waiting + under_way > 0)


def test_the_first_isolated_node_makes_the_place_and_the_last_one_ends_it() -> None:
    first = Machine(scontrol_create="", scontrol_update_nodename="")
    control(first).isolate("a", PLACE)
    made = [words for words in first.ran if words.startswith("scontrol create")]
    assert [words.split()[2] for words in made] == [
        "reservationname=reservation",
        "partitionname=partition",
    ]
    second = Machine(scontrol_update="")
    control(second).isolate("a", PLACE)
    assert not any(words.startswith("scontrol create") for words in second.ran)

    last = Machine(
        scontrol_delete="", scontrol_update_nodename="", scontrol_update_partitionname=""
    )
    control(last).release("a", PLACE)
    assert last.ran[-1] == "scontrol delete reservationname=reservation"


def test_a_job_outlives_a_boot_of_its_node_where_nodes_return_by_themselves() -> None:
    config = "ResvOverRun             = 0 min\nReturnToService         = {}\nSchedulerType = x\n"
    for number, keeps in (("2", True), ("1", False), ("0", False)):
        machine = Machine(scontrol_show_config=config.format(number))
        assert control(machine).keeps_jobs_of_rebooted_nodes() is keeps
