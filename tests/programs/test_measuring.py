"""What the benchmarks say of a command is the command's own, however large they are themselves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Command, measured

BALLAST_MIB = 200


def in_python(program: str) -> Command:
    return Command((sys.executable, "-I", "-S", "-c", program), Path.cwd(), os.environ)


def test_the_memory_of_a_small_command_is_not_that_of_its_large_parent() -> None:
    ballast = b"x" * (BALLAST_MIB << 20)
    small = measured(in_python("pass"))
    assert len(ballast) > 10 * small.mebibytes * (1 << 20)


def test_the_memory_of_a_large_command_is_counted_with_that_of_what_it_starts() -> None:
    large = f"b'x' * ({BALLAST_MIB} << 20)"
    starts_it = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {large!r}])"
    assert measured(in_python(starts_it)).mebibytes > BALLAST_MIB


def test_a_command_that_fails_ends_the_measurement_with_what_it_said() -> None:
    with pytest.raises(SystemExit, match=r"(?s)failed:\n.*no such thing"):
        measured(in_python("raise SystemExit('no such thing')"))
