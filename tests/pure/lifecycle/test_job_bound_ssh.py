"""sshd's account stack ends with pam_slurm_adopt, and nobody is locked out by mistake."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps import job_bound_ssh
from slurmpod_lifecycle.steps.job_bound_ssh import MODULE, PAM_FILE, JobBoundSsh, with_lines
from tests.pure.lifecycle.fakes import NODE_OPTIONS, machine_of, node
from tests.pure.lifecycle.people import ACCESS

OPTIONS = replace(NODE_OPTIONS, ssh_needs_job=True)
OF_THE_IMAGE = "@include common-auth\naccount required pam_nologin.so\n@include common-account\n"
FOUND = f"/usr/lib/x86_64-linux-gnu/security/{MODULE}"


def step(pam: str = OF_THE_IMAGE, found: str = f"{FOUND}\n") -> JobBoundSsh:
    step = JobBoundSsh(node(Role.WORKER, node=OPTIONS, access=ACCESS))
    machine_of(step.node).files[PAM_FILE] = pam
    machine_of(step.node).reply("find", found)
    return step


def test_its_lines_come_last_and_let_administrators_in() -> None:
    ssh = step()
    ssh.apply()
    text = machine_of(ssh.node).files[PAM_FILE]
    assert text.startswith(OF_THE_IMAGE)
    admins = [user.name for user in ACCESS.users if user.admin]
    assert admins
    exempt = ":".join(["root", "ubuntu", *sorted(admins)])
    accounts = [line for line in text.splitlines() if line.startswith("account")]
    assert accounts[-2].endswith(f"pam_succeed_if.so quiet user in {exempt}")
    assert accounts[-1].startswith(f"account required {FOUND} ")


def test_a_second_run_finds_it_done_and_a_third_adds_nothing() -> None:
    ssh = step()
    assert not ssh.is_done()
    ssh.apply()
    text = machine_of(ssh.node).files[PAM_FILE]
    assert ssh.is_done()
    ssh.apply()
    assert machine_of(ssh.node).files[PAM_FILE] == text


def test_another_list_of_administrators_replaces_the_first() -> None:
    once = with_lines(OF_THE_IMAGE, FOUND, ["root", "carol"])
    assert with_lines(once, FOUND, ["root"]) == with_lines(OF_THE_IMAGE, FOUND, ["root"])


@pytest.mark.parametrize("text", ["", OF_THE_IMAGE.rstrip("\n")])
def test_a_file_without_a_last_newline_stays_whole(text: str) -> None:
    assert with_lines(text, FOUND, ["root"]).count("\n#") == (1 if not text else 2)


def test_an_image_without_the_module_is_refused_and_nothing_is_written() -> None:
    ssh = step(found="")
    with pytest.raises(StepFailed, match=f"this image has no {MODULE}") as failure:
        ssh.apply()
    assert not isinstance(failure.value, NotYet)
    assert machine_of(ssh.node).files[PAM_FILE] == OF_THE_IMAGE


def test_a_package_that_the_environment_names_brings_the_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ssh = step(found="")
    asked = []

    def install(node: Node, name: str) -> bool:
        asked.append(name)
        machine_of(node).reply("find", f"{FOUND}\n")
        return True

    monkeypatch.setattr(job_bound_ssh, "install_artefact", install)
    ssh.apply()
    assert asked == ["pam_slurm_adopt"]
    assert f"account required {FOUND} " in machine_of(ssh.node).files[PAM_FILE]


def test_a_worker_that_cannot_have_the_module_ends_at_once() -> None:
    assert JobBoundSsh.needs == ("image_facts",)


@pytest.mark.parametrize("role", [Role.CONTROLLER, Role.LOGIN])
def test_only_workers_are_closed(role: Role) -> None:
    assert not JobBoundSsh.applies_to(node(role, node=OPTIONS))
