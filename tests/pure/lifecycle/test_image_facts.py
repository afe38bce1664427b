"""What the report says about a node's image."""

from __future__ import annotations

import json

import pytest

from slurmpod.platform_profiles.loading import DEFAULT
from slurmpod_lifecycle.dry_run import only_asks
from slurmpod_lifecycle.platform_facts import IMAGE_FACTS, PYXIS
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.steps.image_facts import PACKAGES, PROGRAM, ImageFacts
from tests.pure.lifecycle.fakes import machine_of, node


@pytest.fixture
def step() -> ImageFacts:
    step = ImageFacts(node(Role.WORKER))
    machine = machine_of(step.node)
    machine.files.update(
        {
            "/etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n',
            "/sys/module/nvidia/version": "570.148.08\n",
            "/opt/amazon/efa_installed_packages": "# EFA installer version: 1.43.2\n# Debug\n",
        }
    )
    machine.reply("uname --kernel-release", "6.8.0-1031-aws\n")
    machine.reply("readlink --canonicalize /opt/slurm", "/opt/slurm-24.11\n")
    machine.reply("modinfo --field version lustre", "2.15.6\n")
    machine.fail("test -e")
    machine.reply(
        "dpkg-query",
        "installed docker-ce 5:28.1.1\nconfig-files enroot 3.4\ninstalled bash 5.1\n",
    )
    return step


def test_the_versions_that_matter_are_noted(step: ImageFacts) -> None:
    assert not step.is_done()
    assert step.apply() == "Ubuntu 22.04.5 LTS, 6.8.0-1031-aws, slurm-24.11"
    noted = json.loads(machine_of(step.node).files[IMAGE_FACTS])
    assert noted.pop("platform")["metadata_needs_token"] is None
    assert noted == {
        "rehearsed_for": DEFAULT,
        "os": "Ubuntu 22.04.5 LTS",
        "kernel": "6.8.0-1031-aws",
        "slurm": "slurm-24.11",
        "nvidia_driver": "570.148.08",
        "neuron_driver": None,
        "efa_driver": None,
        "efa_installer": "EFA installer version: 1.43.2",
        "lustre_client": "2.15.6",
        "pyxis": None,
        "packages": {"docker-ce": "5:28.1.1"},
    }
    assert step.is_done()


def test_nothing_is_asked_twice(step: ImageFacts) -> None:
    step.apply()
    asked = machine_of(step.node).ran
    assert sorted(asked) == sorted(set(asked))


def test_a_lustre_client_for_another_kernel_is_told_of(step: ImageFacts) -> None:
    machine = machine_of(step.node)
    packages = ("lustre-client-modules-6.8.0-1057-aws", "lustre-client-modules-aws")
    machine.reply("dpkg-query", "".join(f"installed {name} 2.15\n" for name in packages))
    assert "warning" not in step.apply()
    machine.fail("modinfo --field version lustre", "Module lustre not found")
    warning = "warning: the Lustre client is built for 6.8.0-1057-aws"
    assert step.apply() == f"Ubuntu 22.04.5 LTS, 6.8.0-1031-aws, slurm-24.11, {warning}"
    assert not step.is_done()


def test_a_slurm_that_nobody_has_tried_is_told_of(step: ImageFacts) -> None:
    machine_of(step.node).reply("readlink --canonicalize /opt/slurm", "/opt/slurm-26.05\n")
    warning = "warning: these scripts are untested with this version of Slurm"
    assert step.apply() == f"Ubuntu 22.04.5 LTS, 6.8.0-1031-aws, slurm-26.05, {warning}"


def test_what_has_changed_is_noted_anew(step: ImageFacts) -> None:
    step.apply()
    machine_of(step.node).reply(f"test -e {PYXIS[1]}", "")
    assert not step.is_done()
    step.apply()
    assert json.loads(machine_of(step.node).files[IMAGE_FACTS])["pyxis"] == PYXIS[1]


def test_an_image_of_which_nothing_is_known_fails_no_node() -> None:
    step = ImageFacts(node(Role.WORKER))
    machine = machine_of(step.node)
    for command in ("uname", "readlink", "modinfo", "dpkg-query", "test"):
        machine.fail(command)
    assert step.apply() == "no facts about this image"
    noted = json.loads(machine.files[IMAGE_FACTS])
    assert (noted.pop("packages"), noted.pop("rehearsed_for")) == ({}, DEFAULT)
    assert noted.pop("platform")
    assert set(noted.values()) == {None}


def test_what_hyperpod_has_put_there_is_noted_once_before_scripts_change_it(
    step: ImageFacts,
) -> None:
    step.apply()
    machine = machine_of(step.node)
    before = json.loads(machine.files[IMAGE_FACTS])["platform"]
    assert before["software"]["docker"]
    machine.fail("which docker")
    assert step.is_done()
    machine.files["/etc/os-release"] = "PRETTY_NAME=Other\n"
    step.apply()
    assert json.loads(machine.files[IMAGE_FACTS])["platform"] == before


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("role", Role)
def test_every_node_has_it(role: Role, mode: Mode) -> None:
    assert ImageFacts.applies_to(node(role, mode=mode))
    assert not ImageFacts.required


def test_it_changes_nothing_but_its_file(step: ImageFacts) -> None:
    step.apply()
    assert machine_of(step.node).access.keys() == {IMAGE_FACTS, PROGRAM}
    assert machine_of(step.node).access[PROGRAM] == (0o755, "")
    assert all(only_asks(line.split()) for line in machine_of(step.node).ran)


def test_names_of_packages_are_no_patterns() -> None:
    assert not any(set(name) & set("*?[") for name in PACKAGES)
