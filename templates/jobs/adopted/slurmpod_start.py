"""Start a program as deepspeed and composer do, with their variables in addition to torchrun's.

Arguments: a Python program, or -m and a module, followed by its arguments. --local-rank before them
passes the process's local rank, as deepspeed does.
"""

from __future__ import annotations

import os
import sys


def command(words: list[str]) -> list[str]:
    """Return the command of this process."""
    passed = []
    if words[0] == "--local-rank":
        passed, words = [f"--local_rank={os.environ['LOCAL_RANK']}"], words[1:]
    names = 2 if words[0] == "-m" else 1
    return [sys.executable, "-u", *words[:names], *passed, *words[names:]]


def variables() -> dict[str, str]:
    """Return the variables that both launchers set and torchrun does not."""
    node, here = os.environ["GROUP_RANK"], os.environ["LOCAL_WORLD_SIZE"]
    nodes = str(int(os.environ["WORLD_SIZE"]) // int(here))
    return {"NODE_RANK": node, "CROSS_RANK": node, "CROSS_SIZE": nodes, "LOCAL_SIZE": here}


if __name__ == "__main__":
    os.execve(sys.executable, command(sys.argv[1:]), {**os.environ, **variables()})  # noqa: S606
