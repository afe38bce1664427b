"""Every environment of this repository on nodes of the adverse variants, as a user rehearses it.

Its nodes become idle and its first job runs on the images of both Slurms. Each takes half a minute
of a processor: `make test-deep` runs them (see conftest). In `make test` the cluster of
test_profiles represents them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from slurmpod.cli.environment import sound_environment
from slurmpod.environment.cluster import Role
from tests.environment_files import FILES
from tests.nodes.conftest import Workplace

IMAGES = ("ami-2026-01", "ami-2026-07")
"""With Slurm 24.11, and with 26.05 instead of 25.11."""

ADVERSE = (
    "apt-locked",
    "late-nodes",
    "login-unlisted",
    "mounted-by-hyperpod",
    "old-scripts",
    "one-controller-rewritten",
    "overwritten",
    "own-name-unknown",
)
"""All at once: they do not interfere. The default profile has all other adverse properties, except
`no-mariadb`: nodes of a rehearsal do not reach the archive that has MariaDB (test_profiles)."""

SHORTER = """
image: {apt_locked_milliseconds: 10000, own_name_unknown_milliseconds: 10000}
timing: {late_nodes_milliseconds: 5000}
"""
MOST_NODES = 2
"""Of a worker or login group; one more node would behave the same."""


def smaller(file: Path, folder: Path) -> Path:
    """Return an environment with few nodes: the same, or one that extends it."""
    resolved = sound_environment(file).resolved
    if all(group.count <= MOST_NODES for group in resolved.groups):
        return file
    groups = [
        {"name": group.name, "count": min(group.count, MOST_NODES)}
        for group in resolved.groups
        if group.role is not Role.CONTROLLER
    ]
    changes = {"name": f"few-{resolved.name}", "cluster": {"groups": groups}}
    few = folder / file.name
    few.write_text(json.dumps({"extends": os.path.relpath(file, folder), **changes}))
    return few


@pytest.mark.parametrize("image_profile", IMAGES)
@pytest.mark.parametrize("name", sorted(FILES))
def test_an_example_runs_a_job_under_all_variants(
    name: str, image_profile: str, workplace: Workplace, tmp_path: Path
) -> None:
    (tmp_path / "shorter.yaml").write_text(SHORTER)
    profiles = [
        f"--profile={each}" for each in (image_profile, *ADVERSE, tmp_path / "shorter.yaml")
    ]
    file = smaller(FILES[name], tmp_path)
    ended = workplace.run("rehearse", str(file), *profiles, "--json", seconds=1800)
    assert ended.returncode == 0, ended.stderr
    assert "task 0 of " in json.loads(ended.stdout)["first_job"]["output"]
