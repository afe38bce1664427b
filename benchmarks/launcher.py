"""Runs one command and reports its time and memory; a separate process, because it must be small.

Linux counts into a process's largest resident set that of its parent until exec: started from a
program that has the CDK loaded, every command seems at least as large as that. This file imports
almost nothing and runs with `python -I -S`, so that usage above some 10 MiB is measured correctly.

Its arguments: the number of an open file descriptor for the report, then the command. The report is
`seconds kibibytes`; the exit status is the command's.
"""

from __future__ import annotations

import os
import sys
import time


def main() -> int:
    """Run the command in this process's arguments, and report its wall time and memory."""
    report, *command = sys.argv[1:]
    started = time.perf_counter()
    pid = os.posix_spawnp(
        command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_CLOSE, int(report))]
    )
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - started
    os.write(int(report), f"{seconds} {usage.ru_maxrss}".encode())
    return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    sys.exit(main())
