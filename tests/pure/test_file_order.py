"""Which process of a test run gets which file."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from xdist.remote import Producer  # type: ignore[import-untyped]

from tests.file_order import FilesTogether, turn

BOOTED = [f"tests/nodes/test_{name}.py" for name in "abcd"]
STACKS = ["tests/templates/test_nag.py", "tests/templates/test_lint.py"]
QUICK = ["tests/pure/test_x.py", "tests/pure/test_y.py"]


@dataclass(eq=False)
class Process:
    """One that is told numbers of tests, three in each file."""

    gateway: Any = field(default_factory=lambda: SimpleNamespace(id="gw"))
    shutting_down: bool = False
    waiting: list[int] = field(default_factory=list)

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.waiting += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


def begun(count: int) -> tuple[FilesTogether, list[Process], list[str]]:
    """Start a run of so many processes; return them with the ids of all tests."""
    tests = [f"{file}::test_{n}" for file in [*BOOTED, *STACKS, *QUICK] for n in range(3)]
    config = SimpleNamespace(
        getvalue=lambda _: [f"{count}*popen"], option=SimpleNamespace(loadscopereorder=True)
    )
    run = FilesTogether(config, Producer("test", enabled=False))
    processes = [Process() for _ in range(count)]
    for process in processes:
        run.add_node(process)
    for process in processes:
        run.add_node_collection(process, tests)
    run.schedule()
    return run, processes, tests


def finish(run: FilesTogether, process: Process) -> None:
    """Let a process do what it was given so far."""
    numbers, process.waiting = process.waiting, []
    for number in numbers:
        run.mark_test_complete(process, number)


def files(process: Process, tests: list[str]) -> list[str]:
    return list(dict.fromkeys(tests[number].partition("::")[0] for number in process.waiting))


def test_one_process_computes_while_the_others_wait_for_nodes() -> None:
    run, (first, second, third), tests = begun(3)
    assert files(first, tests) == STACKS
    assert files(second, tests) == BOOTED[:1]
    assert files(third, tests) == BOOTED[1:2]
    finish(run, second)
    assert files(second, tests) == BOOTED[2:3]
    finish(run, first)
    assert files(first, tests) == QUICK[:1]


def test_in_the_end_all_run_what_is_left() -> None:
    run, (first, second, third), tests = begun(3)
    for process in (second, third):
        finish(run, process)
    finish(run, second)
    assert files(second, tests) == QUICK[:1]
    finish(run, first)
    assert files(first, tests) == QUICK[1:]
    for _ in range(3):
        for process in (first, second, third):
            finish(run, process)
    assert run.tests_finished
    assert not run.has_pending


def test_what_takes_long_comes_first() -> None:
    ordered = sorted(
        ["pure/test_x.py", "templates/a.py", "nodes/b.py", "pure/rules/c.py"], key=turn
    )
    assert ordered == ["nodes/b.py", "templates/a.py", "pure/rules/c.py", "pure/test_x.py"]
