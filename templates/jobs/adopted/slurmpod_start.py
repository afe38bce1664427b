"""Start a program as deepspeed and composer do: with what they set beside torchrun's variables.

Arguments: a Python program, or -m and a module, and what is given to it. --local-rank before them
passes on the process's place on its node, as deepspeed does.
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
    """Return what both launchers set, of which torchrun sets only others."""
    node, here = os.environ["GROUP_RANK"], os.environ["LOCAL_WORLD_SIZE"]
    nodes = str(int(os.environ["WORLD_SIZE"]) // int(here))
    return {"NODE_RANK": node, "CROSS_RANK": node, "CROSS_SIZE": nodes, "LOCAL_SIZE": here}


if __name__ == "__main__":
    os.execve(sys.executable, command(sys.argv[1:]), {**os.environ, **variables()})  # noqa: S606
