"""enroot, pyxis and Docker: what the image has stays, what it lacks is added once."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.settings import NodeOptions, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps import containers, docker
from slurmpod_lifecycle.steps.container_folders import (
    ENROOT_CONF,
    UNIT,
    ContainerFolders,
    docker_conf,
    enroot_conf,
    has_own_enroot_folders,
)
from slurmpod_lifecycle.steps.container_option import ContainerOption
from slurmpod_lifecycle.steps.containers import PLUGSTACK, Containers, with_pyxis
from slurmpod_lifecycle.steps.docker import Docker
from slurmpod_lifecycle.units import unit_path
from tests.pure.lifecycle.fakes import CONTROLLER_ADDRESS, NODE_OPTIONS, machine_of, node

OPTIONS = replace(NODE_OPTIONS, scratch_path="/scratch", containers=True)
LIBRARY = "/usr/local/lib/slurm/spank_pyxis.so"
OURS = f"required {LIBRARY}\n"
FIND_LIBRARY = "find -H /usr/local/lib/slurm /opt/slurm/lib /usr/lib -name spank_pyxis.so"
SLURM_CONF = f"SlurmctldHost=head({CONTROLLER_ADDRESS})\nPartitionName=dev Nodes=ALL\n"
RECONFIGURE = "/opt/slurm/bin/scontrol reconfigure"


def ready(role: Role = Role.CONTROLLER, options: NodeOptions = OPTIONS) -> Node:
    """Return a node whose image has everything."""
    ready = node(role, node=options)
    machine_of(ready).reply(FIND_LIBRARY, f"{LIBRARY}\n")
    machine_of(ready).files["/opt/slurm/etc/slurm.conf"] = SLURM_CONF
    return ready


def install_nothing(_: Node, __: str) -> bool:
    return False


class TestPlugstack:
    FILES = {  # noqa: RUF012  # a constant
        "/opt/slurm/etc/plugstack.conf.d/*.conf": [f"optional {LIBRARY} execute_entrypoint=1\n"],
        "/opt/slurm/etc/others.conf": ["required other.so\n"],
    }

    def result(self, text: str) -> str:
        return with_pyxis(text, LIBRARY, lambda pattern: self.FILES.get(pattern, []))

    @pytest.mark.parametrize("text", ["", OURS, f"{OURS}optional /old/spank_pyxis.so\n"])
    def test_pyxis_is_loaded_once(self, text: str) -> None:
        assert self.result(text) == OURS

    def test_other_plugins_stay_in_front(self) -> None:
        text = "# the agent's\nrequired auto_resume.so agent=1\ninclude /opt/slurm/etc/others.conf"
        assert self.result(text) == f"{text}\n{OURS}"

    def test_an_include_that_loads_it_becomes_its_lines(self) -> None:
        text = "required auto_resume.so\ninclude /opt/slurm/etc/plugstack.conf.d/*.conf\n"
        assert self.result(text) == (
            f"required auto_resume.so\nrequired {LIBRARY} execute_entrypoint=1\n"
        )

    def test_a_second_time_changes_nothing(self) -> None:
        once = self.result("include /opt/slurm/etc/plugstack.conf.d/*.conf\n")
        assert self.result(once) == once


class TestContainers:
    def test_nodes_are_told_before_slurmctld_starts(self) -> None:
        step = Containers(ready())
        machine_of(step.node).fail("systemctl is-active")
        assert not step.is_done()
        assert step.apply() == "the image has enroot and pyxis"
        assert machine_of(step.node).files[PLUGSTACK] == OURS
        assert not machine_of(step.node).did(RECONFIGURE)
        assert step.is_done()

    def test_a_running_slurmctld_hands_it_out(self) -> None:
        step = Containers(ready())
        step.apply()
        assert machine_of(step.node).did(RECONFIGURE)

    def test_hyperpod_writes_its_own_file_first(self) -> None:
        step = Containers(ready())
        del machine_of(step.node).files["/opt/slurm/etc/slurm.conf"]
        with pytest.raises(NotYet, match=r"there is no /opt/slurm/etc/slurm\.conf"):
            step.apply()
        assert PLUGSTACK not in machine_of(step.node).files

    def test_other_nodes_only_need_the_programs(self) -> None:
        assert Containers(ready(Role.WORKER)).is_done()

    def test_what_is_missing_is_added(self, monkeypatch: pytest.MonkeyPatch) -> None:
        worker = ready(Role.WORKER)
        machine = machine_of(worker)
        machine.fail("which enroot")
        machine.reply(FIND_LIBRARY, "")
        installed = []

        def install(_: Node, name: str) -> bool:
            installed.append(name)
            machine.reply("which enroot", "")
            machine.reply(FIND_LIBRARY, LIBRARY if name == "pyxis" else "")
            return True

        monkeypatch.setattr(containers, "install_artefact", install)
        assert Containers(worker).apply() == "added enroot and pyxis"
        assert installed == ["enroot", "enroot_caps", "pyxis"]

    def test_what_nobody_has_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        worker = ready(Role.WORKER)
        machine_of(worker).reply(FIND_LIBRARY, "")
        machine_of(worker).reply("uname", "aarch64\n")
        monkeypatch.setattr(containers, "install_artefact", install_nothing)
        wanted = r"no pyxis; fix: name 'pyxis' for arm64 under lifecycle\.artefacts"
        with pytest.raises(StepFailed, match=wanted):
            Containers(worker).apply()

    @pytest.mark.parametrize("role", [Role.CONTROLLER, Role.WORKER])
    def test_the_library_is_at_one_path_on_nodes_of_all_architectures(self, role: Role) -> None:
        step = Containers(ready(role))
        machine = machine_of(step.node)
        of_package = "/usr/lib/aarch64-linux-gnu/slurm/spank_pyxis.so"
        machine.reply(FIND_LIBRARY, f"{of_package}\n")
        assert not step.is_done()
        step.apply()
        assert machine.did(f"ln --symbolic --force {of_package} {LIBRARY}")
        machine.reply(FIND_LIBRARY, f"{LIBRARY}\n{of_package}\n")
        assert step.is_done()
        assert machine.files.get(PLUGSTACK, OURS) == OURS


class TestFolders:
    def step(self, mounts: str, conf: str = "") -> ContainerFolders:
        step = ContainerFolders(ready(Role.WORKER))
        machine = machine_of(step.node)
        machine.files["/proc/self/mounts"] = mounts
        machine.files[ENROOT_CONF] = conf
        return step

    @pytest.mark.parametrize(
        ("mounts", "folder"),
        [
            ("/dev/md0 /scratch xfs rw 0 0\n/dev/md1 /opt/dlami/nvme xfs rw 0 0\n", "/scratch"),
            ("/dev/md1 /opt/dlami/nvme xfs rw 0 0\n", "/opt/dlami/nvme"),
            ("/dev/nvme1n1 /opt/sagemaker xfs rw 0 0\n", "/opt/sagemaker"),
            ("", "/var/lib/containers"),
        ],
    )
    def test_are_on_the_fastest_disk(self, mounts: str, folder: str) -> None:
        step = self.step(mounts)
        said = step.apply()
        machine = machine_of(step.node)
        assert (
            f"ENROOT_DATA_PATH {folder}/enroot/data/user-$(id -u)\n" in machine.files[ENROOT_CONF]
        )
        assert f'"--mode=1777" "{folder}/enroot/runtime" ' in machine.files[unit_path(UNIT)]
        assert machine.did(f"systemctl restart {UNIT}")
        assert said.startswith("warning: on the root disk") is (not mounts)
        assert step.is_done()

    def test_of_the_image_stay_where_they_are_on_a_disk(self) -> None:
        conf = "ENROOT_DATA_PATH /opt/dlami/nvme/tmp/enroot/data/user-$(id -u)\n"
        step = self.step("/dev/md1 /opt/dlami/nvme xfs rw 0 0\n", conf)
        step.apply()
        assert machine_of(step.node).files[ENROOT_CONF] == conf

    def test_ours_are_not_taken_for_the_images(self) -> None:
        text = enroot_conf("ENROOT_MOUNT_HOME n\n  \n#ENROOT_DATA_PATH x\n", "/opt/dlami/nvme")
        assert not has_own_enroot_folders(text, "/opt/dlami/nvme")
        assert text.startswith("ENROOT_MOUNT_HOME n\n#ENROOT_DATA_PATH x\nENROOT_RUNTIME_PATH ")
        assert enroot_conf(text, "/opt/dlami/nvme") == text


class TestDocker:
    def step(self, *, has_way_out: bool = True) -> Docker:
        return Docker(ready(Role.WORKER, replace(OPTIONS, has_way_out=has_way_out)))

    def test_of_the_image_is_told_where_its_data_lie(self) -> None:
        step = self.step()
        machine_of(step.node).files["/proc/self/mounts"] = "/dev/md0 /scratch xfs rw 0 0\n"
        machine_of(step.node).files[docker.CONFIGURATION] = '{"runtimes": {}}'
        step.apply()
        text = machine_of(step.node).files[docker.CONFIGURATION]
        assert json.loads(text) == {
            "runtimes": {},
            "data-root": "/scratch/docker",
            "features": {"containerd-snapshotter": False},
        }
        assert machine_of(step.node).did("systemctl restart docker")
        assert step.is_done()

    def test_that_the_image_has_configured_is_left_alone(self) -> None:
        assert docker_conf('{"data-root":"/else"}', "/scratch") == '{"data-root":"/else"}'

    def test_keeps_what_the_image_says_of_its_image_store(self) -> None:
        said = {"features": {"containerd-snapshotter": True, "cdi": True}}
        assert json.loads(docker_conf(json.dumps(said), "/scratch"))["features"] == said["features"]

    def test_with_containers_goes_on_as_it_is_until_somebody_restarts_it(self) -> None:
        step = self.step()
        machine_of(step.node).reply("docker ps --quiet", "4f2a\n")
        assert step.apply().startswith("warning: containers run")
        assert not machine_of(step.node).did("systemctl restart docker")
        assert not step.is_done()
        assert step.apply().startswith("warning: containers run")
        machine_of(step.node).run("systemctl", "restart", "docker")
        assert step.is_done()

    def test_is_installed_with_its_data_in_place(self) -> None:
        step = self.step()
        machine_of(step.node).fail("which docker")
        assert step.apply() == "added Docker; it runs"
        assert any(line.endswith(" docker.io") for line in machine_of(step.node).ran)

    def test_cannot_be_had_in_a_closed_network(self) -> None:
        step = self.step(has_way_out=False)
        machine_of(step.node).fail("which docker")
        with pytest.raises(StepFailed, match="no Docker, and the network is closed"):
            step.apply()

    @pytest.mark.parametrize("text", ["[]", "{"])
    def test_with_a_broken_configuration_says_so(self, text: str) -> None:
        step = self.step()
        machine_of(step.node).files[docker.CONFIGURATION] = text
        with pytest.raises(StepFailed, match=r"daemon\.json is no JSON object"):
            step.apply()


class TestOption:
    def test_is_waited_for(self) -> None:
        step = ContainerOption(ready(Role.LOGIN))
        with pytest.raises(NotYet, match="srun knows no --container-image"):
            step.apply()
        machine_of(step.node).reply("/opt/slurm/bin/srun --help", "  --container-image=IMAGE\n")
        assert step.apply() == "srun knows --container-image"

    def test_is_not_waited_for_before_hyperpod_lists_the_node(self) -> None:
        step = ContainerOption(ready(Role.WORKER))
        machine = machine_of(step.node)
        machine.fail("/opt/slurm/bin/srun --help", "no configuration source")
        machine.fail("systemctl is-active --quiet slurmd")
        with pytest.raises(NotYet, match="no configuration source"):
            step.apply()
        machine.reply("journalctl", "fatal: Unable to determine this slurmd's NodeName\n")
        assert "does not list ip-10-0-128-20 yet" in step.apply()
