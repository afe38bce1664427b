"""What a controller is asked through a session, and what its answer means."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_manager import SessionRequest
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.slurm_remote import RemoteSlurm
from tests.pure.operations.queued_job import a_job

SCONTROL = """#!/bin/sh
case "$*" in
ping) echo "Slurmctld(primary) at ip-0 is $STATE" ;;
*"show node"*) for name in $(echo "$4" | tr , ' '); do
    [ "$name" = ip-9 ] && { echo "Node ip-9 not found"; continue; }
    echo "NodeName=$name Arch=x86_64 State=MIXED*+CLOUD+DRAIN" \\
        "SlurmdStartTime=2026-01-01T00:00:02" \\
        "Reason=slurmpod node reboot, since 2026-01-01T00:00:01 : Not responding [root@2026-01-03]"
    done ;;
*"requeue 8"*) echo "Requested operation is presently disabled"; exit 1 ;;
*) printf '%s\\n' "$*" >> "$LOG" ;;
esac
"""
SQUEUE = "#!/bin/sh\necho '7_1|RUNNING|alice|cpu|1|1:02|NONE|ip-[1-2]|None|a | b'\n"


class Controller(NodeSessions):
    """Runs what a session would run, here, with commands of Slurm that we know."""

    def __init__(self, folder: Path, state: str = "UP") -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.state, self.folder, self.log = state, folder, folder / "log"
        for name, text in (("scontrol", SCONTROL), ("squeue", SQUEUE)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (folder / "sudo").write_text('#!/bin/sh\nshift\nexec "$@"\n')
        (folder / "sudo").chmod(0o755)

    def output(self, request: SessionRequest, patience_seconds: float | None = None) -> str:
        command = request.command.replace("/opt/slurm/bin", str(self.folder))
        variables = {"PATH": f"{self.folder}:/usr/bin:/bin", "STATE": self.state,
                     "LOG": str(self.log)}  # fmt: skip
        ran = subprocess.run(["sh", "-c", command], env=variables, capture_output=True, text=True,
                             check=False)  # fmt: skip
        return f"Starting session\n{ran.stdout}{ran.stderr}\nExiting session\n"


def slurm(tmp_path: Path, state: str = "UP") -> RemoteSlurm:
    return RemoteSlurm(Controller(tmp_path, state), ["sagemaker-cluster:x_head-i-0"])


def test_nodes_and_jobs_are_read(tmp_path: Path) -> None:
    view = slurm(tmp_path).look(["ip-1", "ip-9"])
    (node,) = view.nodes.values()
    assert node.state == {"MIXED", "NOT_RESPONDING", "CLOUD", "DRAIN"}
    assert (node.is_held, node.is_free, node.answers) == (True, False, False)
    assert node.has_started_anew
    assert node.is_held_for("slurmpod node reboot")
    assert view.jobs == (a_job("7_1", "alice", "1:02", "ip-[1-2]", "a | b"),)


def test_a_reason_has_the_time_of_the_controller(tmp_path: Path) -> None:
    slurm(tmp_path).drain(["ip-2", "ip-1"], "slurmpod node drain; $(touch /tmp/bad)")
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert line.startswith("update nodename=ip-1,ip-2 state=drain reason=slurmpod node drain; $(")
    assert ", since 20" in line


def test_a_job_that_is_not_requeued_says_why(tmp_path: Path) -> None:
    jobs = [a_job(id_, "alice", "1", "ip-1", "train") for id_ in ("7", "8")]
    why = slurm(tmp_path).requeue(jobs)
    assert why == {"8": "Requested operation is presently disabled"}


def test_a_slurmctld_that_is_down_is_told(tmp_path: Path) -> None:
    with pytest.raises(AwsUnavailable, match=r"slurmctld does not answer: .* is DOWN"):
        slurm(tmp_path, "DOWN").look(["ip-1"])


def test_another_controller_is_asked_where_one_says_nothing(tmp_path: Path) -> None:
    class OneIsGone(Controller):
        def output(self, request: SessionRequest, patience_seconds: float | None = None) -> str:
            gone = request.target == "sagemaker-cluster:x_head-i-0"
            return "" if gone else super().output(request, patience_seconds)

    targets = ["sagemaker-cluster:x_head-i-0", "sagemaker-cluster:x_head-i-1"]
    view = RemoteSlurm(OneIsGone(tmp_path), targets).look(["ip-1"])
    assert list(view.nodes) == ["ip-1"]


def test_a_controller_has_as_long_as_jobs_may_take(tmp_path: Path) -> None:
    class Patient(Controller):
        def output(self, request: SessionRequest, patience_seconds: float | None = None) -> str:
            self.patience_seconds = patience_seconds
            return super().output(request, patience_seconds)

    controller = Patient(tmp_path)
    (tmp_path / "squeue").write_text("#!/bin/sh\n")
    RemoteSlurm(controller, ["x"]).look(["ip-1"], seconds=3600)
    assert (controller.patience_seconds or 0) > 3600
