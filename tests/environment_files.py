"""The environments of this repository, which many tests use; without the CDK."""

from __future__ import annotations

from pathlib import Path

from slurmpod.reading.extends import environment_files

ENVIRONMENTS = Path(__file__).parents[1] / "environments"
EXAMPLES = tuple(file.stem for file in environment_files(ENVIRONMENTS))
"""The names of those in the README."""

FILES = {
    file.stem: file
    for folder in (ENVIRONMENTS, ENVIRONMENTS / "examples")
    for file in environment_files(folder)
}
"""Every environment's file by its name."""
