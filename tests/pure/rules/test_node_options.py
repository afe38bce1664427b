"""What the cases of the rules about nodes do not show: where they keep silent, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from slurmpod.problems import Problem
from slurmpod.rules.check import check
from tests.sound_environment import sound_and


def found(**sections: Any) -> list[Problem]:
    return [problem for problem in check(sound_and(**sections)) if problem.rule != "TAG-001"]


def ids(**sections: Any) -> set[str]:
    return {problem.rule for problem in found(**sections)}


def cluster(*types: str) -> dict[str, Any]:
    """Return a cluster with one worker group for each of these types."""
    workers = [
        {"name": f"g{number}", "role": "worker", "instance_type": name, "partition": f"p{number}"}
        for number, name in enumerate(types)
    ]
    controller = {"name": "controller", "role": "controller", "instance_type": "ml.m5.large"}
    return {"groups": [controller, *workers]}


def package(name: str, architecture: str = "x86_64") -> dict[str, str]:
    url = f"https://downloads.example.com/{name}.deb"
    return {"name": name, "architecture": architecture, "url": url, "sha256": "ab" * 32}


SCRATCH: dict[str, Any] = {"scratch": {}}
BUCKET = {"s3_mounts": [{"bucket": "my-data", "mount_path": "/data"}]}


class TestScratch:
    @pytest.mark.parametrize(
        ("mount_path", "rule"),
        [("/fsx", "MNT-001"), ("/fsx/scratch", "MNT-002"), ("/usr/scratch", "STO-003")],
    )
    def test_it_is_a_mount_like_the_others(self, mount_path: str, rule: str) -> None:
        storage = {"scratch": {"mount_path": mount_path}}
        assert ids(storage=storage, cluster=cluster("ml.g5.xlarge")) == {rule}

    def test_a_type_that_nobody_knows_may_have_disks(self) -> None:
        types = cluster("ml.m5.xlarge", "ml.new9.xlarge")
        assert "NOD-002" not in ids(storage=SCRATCH, cluster=types)

    def test_homes_on_it_are_not_shared(self) -> None:
        people = {"users": [{"name": "alice", "uid": 20001}], "home_directory": "/scratch/home"}
        assert ids(storage=SCRATCH, access=people, cluster=cluster("ml.g5.xlarge")) == {"HOM-001"}


class TestPackages:
    def test_listed_for_all_processors_nodes_have_mountpoint(self) -> None:
        both = cluster("ml.m5.xlarge", "ml.c7g.xlarge")
        intel, arm = package("mount_s3"), package("mount_s3", "arm64")
        for artefacts, expected in (([intel], {"LIF-009"}), ([intel, arm], set())):
            lifecycle = {"artefacts": artefacts}
            assert ids(storage=BUCKET, cluster=both, lifecycle=lifecycle) == expected

    def test_processors_of_a_type_that_nobody_knows_are_not_judged(self) -> None:
        types = cluster("ml.m5.xlarge", "ml.new9.xlarge")
        lifecycle = {"containers": True, "artefacts": [package("enroot", "arm64")]}
        assert "ART-002" not in ids(cluster=types, lifecycle=lifecycle)

    def test_in_a_closed_network_both_programs_are_needed(self) -> None:
        lifecycle = {"containers": True, "artefacts": [package("enroot")]}
        network = {"zone": "us-west-2b", "closed": True}
        (problem,) = found(network=network, lifecycle=lifecycle)
        assert problem.rule == "ART-004"
        assert problem.message.startswith("pyxis ")


class TestOwnScripts:
    @pytest.fixture
    def scripts(self, tmp_path: Path) -> str:
        script = "#!/bin/bash\nsystemctl enable --now slurmctld || systemctl enable --now slurmd\n"
        (tmp_path / "on_create.sh").write_text(script)
        return str(tmp_path)

    def test_they_have_to_do_what_nodes_are_asked(self, scripts: str) -> None:
        problems = found(
            storage=SCRATCH,
            cluster=cluster("ml.g5.xlarge"),
            access={"ssh_between_nodes": True},
            lifecycle={"scripts": scripts},
        )
        assert [problem.rule for problem in problems] == ["OWN-011", "OWN-011"]

    def test_they_read_no_options_of_steps(self, scripts: str) -> None:
        lifecycle = {"scripts": scripts, "containers": True, "artefacts": [package("pyxis")]}
        assert [problem.rule for problem in found(lifecycle=lifecycle)] == ["LIF-003", "LIF-003"]


class TestSshBetweenNodes:
    ACCESS: ClassVar[dict[str, Any]] = {"ssh_between_nodes": True}

    @pytest.mark.parametrize("storage", [{"lustre": None, "openzfs": {}}, {}])
    def test_a_new_file_system_is_enough(self, storage: dict[str, Any]) -> None:
        assert ids(storage=storage, access=self.ACCESS) == set()

    def test_root_may_not_be_able_to_write_to_an_existing_one(self) -> None:
        existing = {"id": "fs-0123456789abcdef0", "mount_name": "abcd1234"}
        assert "NOD-003" in ids(storage={"lustre": {"existing": existing}}, access=self.ACCESS)
