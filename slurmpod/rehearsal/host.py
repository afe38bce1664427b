"""The process that owns all resources of one rehearsal.

`processes` starts it. It runs until the command that started it ends, unless that command says to
keep it. However it ends, even by SIGKILL, the kernel ends and frees everything it owns.
"""

from __future__ import annotations

import sys
from pathlib import Path

from embedded_aws.garbage import collect_garbage_rarely


def main() -> None:
    """Run the rehearsal whose folder is the only argument, until it is asked to end."""
    collect_garbage_rarely()  # before imports that create a million objects
    from slurmpod.rehearsal.hosting import run

    run(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
