from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slurmpod_lifecycle.dry_run import ReadOnlyMachine, WouldChange, only_asks, preview
from slurmpod_lifecycle.hook_program import HookProgram
from slurmpod_lifecycle.runner import State
from slurmpod_lifecycle.step import NotYet, Step, StepFailed
from slurmpod_lifecycle.units import NOTES


class Planned(Step):
    """A step made of a function."""

    def __init__(self, name: str, action: Callable[[], str], *needs: str) -> None:
        self.name = name  # type: ignore[misc]  # the class's in real steps
        self.needs = needs
        self._action = action

    def apply(self) -> str:
        return self._action()


def raises(error: Exception) -> Callable[[], str]:
    def action() -> str:
        raise error

    return action


class TestPreview:
    @pytest.mark.parametrize(
        ("error", "state", "detail"),
        [
            (WouldChange("write /etc/a"), State.WOULD_RUN, "would first write /etc/a"),
            (NotYet("no answer", "wait"), State.WOULD_RUN, "would wait: no answer"),
            (StepFailed("no such image", "take another"), State.FAILED, "no such image"),
            (KeyError("a"), State.FAILED, "unexpected KeyError: 'a'"),
        ],
    )
    def test_says_why_a_step_is_not_done(self, error: Exception, state: State, detail: str) -> None:
        (result,) = preview([Planned("a", raises(error))])
        assert (result.state, result.detail) == (state, detail)

    def test_steps_come_after_those_that_they_need(self) -> None:
        steps = [Planned("b", lambda: "", "a"), Planned("a", lambda: "")]
        assert [result.step for result in preview(steps)] == ["a", "b"]


class TestReadOnlyMachine:
    def test_writes_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        with pytest.raises(WouldChange, match=f"write {path}"):
            ReadOnlyMachine().write(str(path), "text")
        with pytest.raises(WouldChange, match=f"add a line to {path}"):
            ReadOnlyMachine().append(str(path), "line")
        assert not path.exists()

    def test_what_is_written_already_is_no_change(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("text")
        assert not ReadOnlyMachine().write(str(tmp_path / "file"), "text")

    def test_a_note_is_not_the_change_that_is_told(self) -> None:
        machine = ReadOnlyMachine()
        assert not machine.write(f"{NOTES}/of-a-test", "a run")
        assert machine.read(f"{NOTES}/of-a-test") is None

    def test_runs_what_only_asks(self, tmp_path: Path) -> None:
        assert ReadOnlyMachine().run("stat", "--format=%F", str(tmp_path)) == "directory\n"

    @pytest.mark.parametrize("ask", [ReadOnlyMachine.run, ReadOnlyMachine.succeeds])
    def test_runs_nothing_else(self, ask: Callable[..., object], tmp_path: Path) -> None:
        with pytest.raises(WouldChange, match="run 'touch"):
            ask(ReadOnlyMachine(), "touch", str(tmp_path / "file"))
        with pytest.raises(WouldChange):
            ReadOnlyMachine().run_program(HookProgram(["touch"], {}, "/", 1), print)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("systemctl is-active --quiet slurmd", True),
        ("systemctl restart slurmd", False),
        ("/opt/slurm/bin/sacctmgr --noheader show qos", True),
        ("/opt/slurm/bin/sacctmgr --immediate add qos show", False),
        ("ip -json -4 address show", True),
        ("ip link set eth0 down", False),
        ("aws secretsmanager get-secret-value --secret-id a", True),
        ("aws s3 cp a b", False),
        ("rm file", False),
        ("find /etc -name a", True),
        ("find /etc -name a -delete", False),
    ],
)
def test_only_known_commands_are_taken_for_questions(command: str, asks: bool) -> None:
    assert only_asks(command.split()) is asks
