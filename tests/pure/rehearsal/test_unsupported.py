"""What rehearsals leave out of an environment, and that it is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slurmpod.operations.progress import Progress
from slurmpod.platform_profiles.loading import load
from slurmpod.reading.read import Reading, read
from slurmpod.rehearsal.unsupported import rehearsed_file
from slurmpod.resolve import resolve

if TYPE_CHECKING:
    import pytest

ENVIRONMENTS = Path(__file__).parents[3] / "environments"


def rehearsed(file: Path, folder: Path, *profiles: str) -> Path:
    environment = read(file).environment
    assert environment is not None
    software = load(profiles).profile.image.software
    return rehearsed_file(file, resolve(Reading(environment)), software, folder, Progress())


def test_the_directory_and_a_package_that_nodes_cannot_fetch_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original = read(ENVIRONMENTS / "examples/research-teams.yaml")
    loaded = read(rehearsed(ENVIRONMENTS / "examples/research-teams.yaml", tmp_path))
    assert original.environment is not None
    assert loaded.environment is not None
    without = original.environment.access.model_copy(
        update={"directory": None, "ssh_needs_job": False}
    )
    assert loaded.environment == original.environment.model_copy(update={"access": without})
    assert (len(loaded.users), loaded.problems) == (2, ())
    said = "".join(capsys.readouterr())
    assert "access.directory" in said
    assert "access.ssh_needs_job" in said


def test_ssh_needs_a_job_where_the_profiles_image_has_the_module(tmp_path: Path) -> None:
    file = ENVIRONMENTS / "examples/research-teams.yaml"
    loaded = read(rehearsed(file, tmp_path, "pam-slurm-adopt-there"))
    assert loaded.environment is not None
    assert loaded.environment.access.ssh_needs_job


def test_nodes_that_lack_the_module_fail_where_no_package_is_named(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    written = (ENVIRONMENTS / "dev.yaml").read_text()
    file.write_text(f"{written}\naccess: {{ssh_needs_job: true}}\n")
    assert rehearsed(file, tmp_path) == file


def test_containers_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = read(ENVIRONMENTS / "examples/closed-network.yaml")
    loaded = read(rehearsed(ENVIRONMENTS / "examples/closed-network.yaml", tmp_path))
    assert original.environment is not None
    assert loaded.environment is not None
    without = original.environment.lifecycle.model_copy(update={"containers": False})
    assert loaded.environment == original.environment.model_copy(update={"lifecycle": without})
    assert "run no containers" in " ".join("".join(capsys.readouterr()).split())


def test_containers_stay_where_the_profiles_image_has_them(tmp_path: Path) -> None:
    file = ENVIRONMENTS / "examples/closed-network.yaml"
    assert rehearsed(file, tmp_path, "docker-there") == file


def test_an_environment_without_any_of_it_is_rehearsed_as_it_is(tmp_path: Path) -> None:
    file = ENVIRONMENTS / "dev.yaml"
    assert rehearsed(file, tmp_path) == file
    assert list(tmp_path.iterdir()) == []
