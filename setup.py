"""Packaging that pyproject.toml cannot describe: folders beside the packages in the wheel."""

from __future__ import annotations

from pathlib import Path
from shutil import copy2, copytree, ignore_patterns

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = ("functions", "lifecycle_scripts", "templates")
FILES = ("app.py", "cdk.json", "package.json", "package-lock.json")


class BuildWithFolders(build_py):
    """Puts the folders into `slurmpod/data`, where `slurmpod.folders` looks for them.

    The scripts for nodes are data, whole; the tool itself imports `slurmpod_lifecycle`, a package.
    """

    def run(self) -> None:
        """Build the packages, and copy; an editable install finds the folders where they are."""
        super().run()
        if self.editable_mode:
            return
        data = Path(self.build_lib, "slurmpod", "data")
        for name in FOLDERS:
            unwanted = ignore_patterns("__pycache__", "*.pyc")
            copytree(name, data / name, ignore=unwanted, dirs_exist_ok=True)
        for name in FILES:
            copy2(name, data / name)


setup(cmdclass={"build_py": BuildWithFolders})
