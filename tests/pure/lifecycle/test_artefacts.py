from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.packages import CACHE, install_artefact
from slurmpod_lifecycle.settings import Artefact, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from tests.pure.lifecycle.fakes import NODE_OPTIONS, machine_of, node

SHA256 = "404a" * 16
"""With 404 in it, which is not the status of an answer."""
FILE = f"{CACHE}/{SHA256}.deb"
ARTEFACT = Artefact(
    name="enroot",
    architecture="x86_64",
    url="https://downloads.example.com/enroot_amd64.deb",
    sha256=SHA256,
    mirror=f"s3://sagemaker-dev/lifecycle/artefacts/{SHA256}/enroot_amd64.deb",
)
INSTALLATION = "env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get"


def node_with(*artefacts: Artefact, has_way_out: bool = True) -> Node:
    """Return a worker that has fetched nothing yet; each download brings the right file."""
    options = replace(NODE_OPTIONS, artefacts=artefacts, has_way_out=has_way_out)
    worker = node(Role.WORKER, node=options)
    machine = machine_of(worker)
    machine.reply("uname", "x86_64\n")
    machine.fail(f"test -f {FILE}")
    machine.reply(f"test -f {FILE}.part", "")
    machine.reply("sha256sum", f"{SHA256}  file\n")
    return worker


def has_installed(node: Node) -> bool:
    return any(line.startswith(INSTALLATION) and FILE in line for line in machine_of(node).ran)


class TestChoice:
    def test_what_the_environment_does_not_name_is_not_installed(self) -> None:
        worker = node_with(ARTEFACT)
        assert not install_artefact(worker, "pyxis")
        assert not has_installed(worker)

    def test_what_is_for_other_processors_is_not_installed(self) -> None:
        worker = node_with(replace(ARTEFACT, architecture="arm64"))
        assert not install_artefact(worker, "enroot")

    def test_each_architecture_has_its_own(self) -> None:
        worker = node_with(
            replace(ARTEFACT, sha256="0" * 64), replace(ARTEFACT, architecture="arm64")
        )
        machine_of(worker).reply("uname", "aarch64\n")
        assert install_artefact(worker, "enroot")
        assert has_installed(worker)


class TestSource:
    def test_the_mirror_comes_first(self) -> None:
        worker = node_with(ARTEFACT)
        assert install_artefact(worker, "enroot")
        assert machine_of(worker).did("aws s3 cp")
        assert not machine_of(worker).did("curl")

    def test_without_a_mirrored_copy_it_comes_from_where_it_is_published(self) -> None:
        worker = node_with(ARTEFACT)
        machine_of(worker).fail("aws", "(404) Not Found")
        assert install_artefact(worker, "enroot")
        assert ARTEFACT.url in next(line for line in machine_of(worker).ran if "curl" in line)

    def test_a_closed_network_needs_a_mirrored_copy(self) -> None:
        worker = node_with(ARTEFACT, has_way_out=False)
        machine_of(worker).fail("aws", "An error occurred (404) when calling HeadObject")
        with pytest.raises(StepFailed, match="slurmpod artefacts mirror") as raised:
            install_artefact(worker, "enroot")
        assert not isinstance(raised.value, NotYet)
        assert not machine_of(worker).did("curl")

    @pytest.mark.parametrize("has_way_out", [True, False])
    def test_trouble_in_the_network_may_pass(self, *, has_way_out: bool) -> None:
        worker = node_with(ARTEFACT, has_way_out=has_way_out)
        machine_of(worker).fail("aws", f"'aws s3 cp {ARTEFACT.mirror}': no route")
        machine_of(worker).fail("curl", f"'curl {FILE}.part': no route")
        with pytest.raises(NotYet, match="no route"):
            install_artefact(worker, "enroot")

    def test_a_wrong_url_fails_for_good(self) -> None:
        worker = node_with(ARTEFACT)
        machine_of(worker).fail("aws", "(404)")
        machine_of(worker).fail("curl", "curl: (22) The requested URL returned error: 404")
        with pytest.raises(StepFailed, match="correct its url") as raised:
            install_artefact(worker, "enroot")
        assert not isinstance(raised.value, NotYet)


class TestChecksum:
    def test_another_file_is_thrown_away_and_never_installed(self) -> None:
        worker = node_with(ARTEFACT)
        machine_of(worker).reply("sha256sum", f"{'b' * 64}  file\n")
        with pytest.raises(StepFailed, match=f"{'b' * 64}, not {SHA256}") as raised:
            install_artefact(worker, "enroot")
        assert not isinstance(raised.value, NotYet)
        assert machine_of(worker).did(f"rm -f {FILE}.part")
        assert not has_installed(worker)

    def test_a_copy_from_an_earlier_run_is_not_fetched_again(self) -> None:
        worker = node_with(ARTEFACT)
        machine_of(worker).reply(f"test -f {FILE}", "")
        assert install_artefact(worker, "enroot")
        assert not machine_of(worker).did("aws")
        assert has_installed(worker)

    def test_a_damaged_copy_is_fetched_again(self) -> None:
        worker = node_with(ARTEFACT)
        machine_of(worker).reply(f"test -f {FILE}", "")
        machine_of(worker).reply(f"sha256sum {FILE}", f"{'b' * 64}  file\n")
        machine_of(worker).reply(f"sha256sum {FILE}.part", f"{SHA256}  file\n")
        assert install_artefact(worker, "enroot")
        assert machine_of(worker).did("aws s3 cp")


class TestInstallation:
    def test_a_lock_of_another_installation_may_pass(self) -> None:
        worker = node_with(ARTEFACT)
        machine_of(worker).fail(INSTALLATION, "Could not get lock /var/lib/dpkg/lock-frontend")
        with pytest.raises(NotYet, match="Could not get lock"):
            install_artefact(worker, "enroot")
