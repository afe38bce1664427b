from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slurmpod_lifecycle import hooks
from slurmpod_lifecycle.hook_program import HookProgram, descendants, run_program
from slurmpod_lifecycle.hooks import KILL_SECONDS, HookAfter, HookBefore, interpreter
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.steps import steps_for
from tests.pure.lifecycle.fakes import NODE_OPTIONS, node

BOTH = {"worker": {"before": "hooks/worker-before.sh", "after": "hooks/worker-after.sh"}}
LONG_SECONDS = 60


def node_with_hooks(role: Role = Role.WORKER, **changes: Any) -> Node:
    return node(role, node=replace(NODE_OPTIONS, hooks=BOTH), **changes)


class TestOrder:
    def test_one_comes_before_and_one_after_all_other_steps(self) -> None:
        before, *others, after = steps_for(node_with_hooks())
        assert (before.name, after.name) == ("hook_before", "hook_after")
        assert all("hook_before" in step.needs for step in others)
        assert set(after.needs) == {before.name, *(step.name for step in others)}

    def test_nodes_of_other_roles_have_none(self) -> None:
        names = {step.name for step in steps_for(node_with_hooks(Role.LOGIN))}
        assert not {"hook_before", "hook_after"} & names

    def test_they_have_the_time_of_a_step_and_what_it_takes_to_kill_them(self) -> None:
        assert HookAfter(node_with_hooks()).timeout_seconds == 600 + KILL_SECONDS


class TestScript:
    @pytest.fixture(autouse=True)
    def _bundle(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(hooks, "BUNDLE", tmp_path)

    def run(self, tmp_path: Path, script: str, **changes: Any) -> str:
        (tmp_path / "hooks").mkdir()
        (tmp_path / BOTH["worker"]["before"]).write_text(script)
        return HookBefore(replace(node_with_hooks(**changes), machine=Machine())).apply()

    def test_knows_where_it_is(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO):
            did = self.run(tmp_path, "#!/bin/bash\npwd\nenv | grep SLURMPOD | sort\n")
        assert did == "ran hooks/worker-before.sh"
        assert caplog.messages == [
            f"hook_before: {tmp_path}",
            "hook_before: SLURMPOD_ADDRESS=10.0.128.20",
            "hook_before: SLURMPOD_CLUSTER=dev",
            "hook_before: SLURMPOD_GROUP=hands",
            "hook_before: SLURMPOD_INSTANCE_ID=i-0",
            "hook_before: SLURMPOD_NODE_NAME=ip-10-0-128-20",
            "hook_before: SLURMPOD_REGION=us-west-2",
            "hook_before: SLURMPOD_ROLE=worker",
            "hook_before: SLURMPOD_WHEN=before",
        ]

    def test_that_fails_says_its_status_and_its_last_line(self, tmp_path: Path) -> None:
        with pytest.raises(StepFailed, match="ended with status 3: no licence") as raised:
            self.run(tmp_path, "#!/bin/bash\necho first\necho no licence >&2\nexit 3\n")
        assert raised.value.fix == "correct the script of lifecycle.hooks.worker"

    def test_that_hangs_is_killed_with_all_that_it_started(self, tmp_path: Path) -> None:
        script = f"""#!/bin/bash
setsid sleep 987 & echo $! > {tmp_path}/away
timeout 987 sleep 987 & echo $! > {tmp_path}/limited
sleep 987 & echo $! > {tmp_path}/near
echo waiting; wait
"""
        with pytest.raises(StepFailed, match="did not end within 5 s: waiting"):
            self.run(tmp_path, script, step_timeout_seconds=5)
        for name in ("away", "limited", "near"):
            wait_until_gone(int((tmp_path / name).read_text()))

    def test_without_its_interpreter_it_fails(self, tmp_path: Path) -> None:
        with pytest.raises(StepFailed, match="cannot start /no/such/program"):
            self.run(tmp_path, "#!/no/such/program\n")

    def test_what_it_leaves_running_does_not_hold_the_node(self, tmp_path: Path) -> None:
        seen: list[str] = []
        program = HookProgram(
            ["bash", "-c", f"sleep 987 & echo $! > {tmp_path}/left; echo done"],
            environment=os.environ,
            folder="/",
            timeout_seconds=LONG_SECONDS,
        )
        status = run_program(program, seen.append)
        assert (status, seen) == (0, ["done"])
        os.kill(int((tmp_path / "left").read_text()), 9)


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("#!/bin/bash", ["/bin/bash"]),
        ("#! /usr/bin/env -S python3 -u ", ["/usr/bin/env", "-S python3 -u"]),
    ],
)
def test_the_first_line_says_what_runs_it_as_it_does_for_the_kernel(
    first: str, words: list[str]
) -> None:
    assert interpreter(f"{first}\ntrue\n") == words


def test_descendants_are_found_in_other_sessions_and_without_their_parents() -> None:
    processes = [(10, 1, 10), (11, 10, 10), (12, 11, 12), (13, 1, 10), (14, 1, 14), (1, 0, 1)]
    assert descendants(10, processes) == {10, 11, 12, 13}


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + LONG_SECONDS
    while _is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
