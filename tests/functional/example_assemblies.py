"""Synthesizes every environment of this repository, each into an assembly of its name.

Takes the folder for them. All in one process, because most of a synthesis is the start of the CDK.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path


def main(folder: str) -> None:
    """Write the assemblies."""
    os.environ["PATH"] = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    from tests.stacks.synthesis import FILES, synthesized_file

    for name in FILES:
        shutil.move(synthesized_file(name).app.outdir, Path(folder) / name)


if __name__ == "__main__":
    main(sys.argv[1])
