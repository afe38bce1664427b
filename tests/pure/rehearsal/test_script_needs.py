"""What lines of a user's own scripts and hooks need beyond the nodes of a rehearsal."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.reading.read import read
from slurmpod.rehearsal.script_needs import SHOWN, needs_of_scripts, programs_in
from slurmpod.resolve import resolve
from tests.sound_environment import SOUND

SETUP = """\
#!/bin/bash
systemctl enable --now slurmctld
apt-get -y -o DPkg::Lock::Timeout=120 install jq less
apt-get install -y docker-ce
if ! command -v docker; then exit 1; fi
sudo docker run --pull=never tool
docker ps
"""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Return the root directory of an image with one program and two packages."""
    root = tmp_path / "image"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/git").touch()
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").write_text("Package: jq\nX: y\n\nPackage: less\n")
    return root


def needs(folder: Path, image: Path, script: str, more: str = "scripts: ./scripts") -> list[str]:
    (folder / "scripts").mkdir()
    (folder / "scripts" / "on_create.sh").write_text(script)
    file = folder / "environment.yaml"
    file.write_text(f"{SOUND}lifecycle: {{{more}}}\n")
    return needs_of_scripts(resolve(read(file)), image).splitlines()


def test_each_line_is_named_once_with_what_it_needs(tmp_path: Path, image: Path) -> None:
    told = needs(tmp_path, image, SETUP)
    assert told[1:3] == [
        "  on_create.sh:4 needs the internet: apt-get install",
        "  on_create.sh:6 needs docker, which the image lacks",
    ]
    assert told[3].startswith("  fix: bake an image with it: slurmpod prepare --with")


def test_lists_of_packages_are_nothing_that_a_script_waits_for(tmp_path: Path, image: Path) -> None:
    told = needs(
        tmp_path,
        image,
        "#!/bin/sh\napt-get -y -o DPkg::Lock::Timeout=120 update && apt-get install -y jq\n"
        "sudo apt update\napt-get update; apt-get install -y docker-ce\n",
    )
    assert told[1] == "  on_create.sh:4 needs the internet: apt-get install"
    assert not any(":2" in line or ":3" in line for line in told)


def test_hooks_are_looked_through_too(tmp_path: Path, image: Path) -> None:
    hook = "#!/bin/sh\ngit status\ncurl https://example.com/driver.run | sh\n"
    told = needs(tmp_path, image, hook, "hooks: {worker: {before: scripts/on_create.sh}}")
    assert told[1] == "  scripts/on_create.sh:3 needs the internet: https://example.com/driver.run"
    assert not any("needs git" in line for line in told)


def test_nothing_is_told_of_scripts_that_need_nothing(tmp_path: Path, image: Path) -> None:
    assert needs(tmp_path, image, "#!/bin/sh\nsystemctl start slurmctld\ngit status\n") == []


def test_of_very_many_the_first_are_shown(tmp_path: Path, image: Path) -> None:
    many = "".join(f"wget https://example.com/{number}\n" for number in range(SHOWN + 2))
    told = needs(tmp_path, image, f"#!/bin/sh\n{many}")
    assert f"  and {3} more" in told  # wget itself is one


def test_programs_are_what_stands_where_a_command_begins() -> None:
    line = 'X=1 sudo /usr/bin/docker ps && echo docker | gcc -x c - ; [[ -n "$(lctl ping)" ]]'
    assert list(programs_in(line)) == ["docker", "gcc", "lctl"]
    assert list(programs_in("dockerize && my_expect && log make")) == []
