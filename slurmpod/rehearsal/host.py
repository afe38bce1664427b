"""The process that owns everything of one rehearsal.

It is started by `lifetimes` and lives until the command that started it ends, unless that command
says to keep it. However it ends, also by SIGKILL, the kernel takes everything else away with it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from embedded_aws.garbage import collect_garbage_rarely


def main() -> None:
    """Run the rehearsal whose folder is the only argument, until it is told to end."""
    collect_garbage_rarely()  # before imports that make a million objects
    from slurmpod.rehearsal.hosting import run

    run(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
