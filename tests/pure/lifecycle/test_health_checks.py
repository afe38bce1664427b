"""Workers get the checks and what to compare themselves with; slurmctld gets what calls them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from slurmpod_health.__main__ import UNHEALTHY as STATUS_OF_THE_CHECKS
from slurmpod_health.expectations import Expectations, SharedFolder
from slurmpod_lifecycle.health_programs import (
    COMMAND,
    COMMAND_TEXT,
    EPILOG,
    EPILOG_OR_NOTHING,
    EXPECTATIONS,
    FOLDER,
    NOTHING,
    PROLOG,
    PROLOG_OR_NOTHING,
    UNHEALTHY,
    epilog,
    prolog,
)
from slurmpod_lifecycle.settings import Hardware, Mode, NodeOptions, Role
from slurmpod_lifecycle.slurm_files import SLURMPOD_CONF, slurmpod_conf
from slurmpod_lifecycle.steps.health_checks import HealthChecks
from slurmpod_lifecycle.steps.slurm_settings import SlurmSettings
from tests.golden_files import ROOT
from tests.pure.lifecycle.fakes import LUSTRE, NODE_OPTIONS, SLURM, machine_of, node

OPTIONS = replace(
    NODE_OPTIONS,
    instance_types={"hands": ("ml.p5.48xlarge",)},
    hardware={"ml.p5.48xlarge": Hardware("x86_64", "gpu", 8, 32, 30400)},
    scratch_path="/scratch",
    health_checks=True,
)
RECONFIGURE = "/opt/slurm/bin/scontrol reconfigure"


def step(options: NodeOptions = OPTIONS) -> HealthChecks:
    return HealthChecks(node(Role.WORKER, node=options))


class TestWorkers:
    def test_know_what_they_should_have(self, tmp_path: Path) -> None:
        checks = step()
        machine_of(checks.node).files["/proc/self/mounts"] += "/dev/md0 /scratch xfs rw 0 0\n"
        checks.apply()
        (tmp_path / "health.json").write_text(machine_of(checks.node).files[EXPECTATIONS])
        assert Expectations.load(tmp_path / "health.json") == Expectations(
            node="ip-10-0-128-20",
            accelerator_kind="gpu",
            accelerators=8,
            efa_interfaces=32,
            scratch="/scratch",
            shared_folders=(SharedFolder("/fsx", writable=True),),
            free_mib_on_root=1024,
        )

    def test_are_not_asked_for_a_scratch_disk_that_never_was_there(self) -> None:
        checks = step()
        checks.apply()
        assert json.loads(machine_of(checks.node).files[EXPECTATIONS])["scratch"] is None

    def test_are_not_asked_for_what_hyperpod_mounts_on_newer_nodes_only(self) -> None:
        late = replace(LUSTRE, mount_path="/new", mounted_by_hyperpod=True)
        checks = HealthChecks(node(Role.WORKER, node=OPTIONS, file_systems=(LUSTRE, late)))
        checks.apply()
        shared = json.loads(machine_of(checks.node).files[EXPECTATIONS])["shared_folders"]
        assert [each["path"] for each in shared] == ["/fsx"]

    def test_without_a_place_in_the_catalog_have_no_accelerators_to_miss(self) -> None:
        checks = step(replace(OPTIONS, hardware={}))
        checks.apply()
        assert json.loads(machine_of(checks.node).files[EXPECTATIONS])["accelerators"] == 0

    def test_have_a_command_that_a_second_run_leaves_alone(self) -> None:
        checks = step()
        assert not checks.is_done()
        checks.apply()
        assert checks.is_done()
        access = machine_of(checks.node).access
        assert [access[path] for path in (COMMAND, PROLOG, EPILOG)] == [(0o755, "")] * 3

    def test_get_a_changed_program(self) -> None:
        checks = step()
        checks.apply()
        machine_of(checks.node).files[PROLOG] = "of an earlier version\n"
        assert not checks.is_done()
        checks.apply()
        assert machine_of(checks.node).files[PROLOG] == prolog()

    def test_lose_the_command_first(self) -> None:
        """Without it, the others do nothing."""
        checks = step()
        assert next(iter(HealthChecks.files_without(machine_of(checks.node)))) == COMMAND

    @pytest.mark.parametrize("role", [Role.CONTROLLER, Role.LOGIN])
    def test_are_the_only_ones_with_checks(self, role: Role) -> None:
        assert not HealthChecks.applies_to(node(role, node=OPTIONS))


class TestController:
    @pytest.mark.parametrize("mode", list(Mode))
    def test_names_both_programs_and_hands_out_none(self, mode: Mode) -> None:
        settings = SlurmSettings(node(Role.CONTROLLER, node=OPTIONS, mode=mode))
        machine = machine_of(settings.node)
        machine.reply("/opt/slurm/bin/scontrol ping", "Slurmctld(primary) is UP\n")
        assert not settings.is_done()
        settings.apply()
        assert settings.is_done()
        assert machine.files[SLURMPOD_CONF].splitlines()[1:] == [
            "Prolog=/usr/bin/tru[eP]",
            "Epilog=/usr/bin/tru[eE]",
            "PrologEpilogTimeout=120",
        ]
        assert not {PROLOG, EPILOG} & set(machine.files)
        assert machine.did(RECONFIGURE)

    def test_adds_to_the_users_own_programs_and_flags(self) -> None:
        wanted = replace(SLURM, configuration={"Prolog": "/usr/bin/true", "prologflags": "Alloc"})
        lines = slurmpod_conf(wanted, replace(OPTIONS, ssh_needs_job=True)).splitlines()
        assert {"Prolog=/usr/bin/true", f"Prolog={PROLOG_OR_NOTHING}"} < set(lines)
        assert "prologflags=Alloc,Contain" in lines

    @pytest.mark.parametrize("name", ["Prolog", "epilog", "PrologEpilogTimeout"])
    def test_leaves_it_to_the_user_how_long_the_users_own_may_take(self, name: str) -> None:
        wanted = replace(SLURM, configuration={name: "1"})
        lines = slurmpod_conf(wanted, OPTIONS).lower().splitlines()
        assert [line for line in lines if line.startswith("prologepilogtimeout")] == (
            ["prologepilogtimeout=1"] if "Timeout" in name else []
        )

    def test_sets_no_flags_for_the_checks_alone(self) -> None:
        """Any of them keeps steps from starting again on a node that was replaced."""
        assert "PrologFlags" not in slurmpod_conf(SLURM, OPTIONS)


class TestNames:
    """Slurm expands them with glob(3) on each node, and fails a job where nothing matches."""

    @pytest.mark.parametrize(
        ("pattern", "program"), [(PROLOG_OR_NOTHING, PROLOG), (EPILOG_OR_NOTHING, EPILOG)]
    )
    def test_match_what_is_everywhere_and_ours_and_nothing_else(
        self, tmp_path: Path, pattern: str, program: str
    ) -> None:
        folder = tmp_path / "usr/bin"
        folder.mkdir(parents=True)
        for name in (NOTHING, PROLOG, EPILOG, "/usr/bin/truncate", "/usr/bin/true.old"):
            (folder / Path(name).name).touch()
        found = {f"/{path.relative_to(tmp_path)}" for path in tmp_path.glob(pattern.lstrip("/"))}
        assert found == {NOTHING, program}


class TestPrograms:
    """The programs themselves, with another command in place of the checks."""

    def ends(self, program: str, folder: Path, command: str | None) -> int:
        path = folder / "slurmpod-health"
        if command is not None:
            path.write_text(f"#!/bin/sh\n{command}\n")
            path.chmod(0o755)
        script = program.replace(COMMAND, str(path))
        return subprocess.run(["sh", "-c", script], check=False).returncode

    def test_know_the_status_of_the_checks(self) -> None:
        assert UNHEALTHY == STATUS_OF_THE_CHECKS

    @pytest.mark.parametrize(
        ("command", "ends"),
        [(None, 0), ("exit 0", 0), (f"exit {UNHEALTHY}", 1), ("exit 1", 0), ("kill -9 $$", 0)],
    )
    def test_only_a_bad_node_fails_the_prolog(
        self, tmp_path: Path, command: str | None, ends: int
    ) -> None:
        assert self.ends(prolog(), tmp_path, command) == ends

    def test_nothing_fails_the_epilog(self, tmp_path: Path) -> None:
        assert self.ends(epilog(), tmp_path, f"exit {UNHEALTHY}") == 0

    def test_say_which_of_them_they_are(self, tmp_path: Path) -> None:
        for program, option in ((prolog(), "--prolog"), (epilog(), "--epilog")):
            assert self.ends(program, tmp_path, f'echo "$@" >{tmp_path}/said') == 0
            assert (tmp_path / "said").read_text() == f"{option}\n"

    def test_the_checks_take_no_modules_from_where_somebody_stands(self, tmp_path: Path) -> None:
        (tmp_path / "argparse.py").write_text("raise SystemExit('of a user')\n")
        script = COMMAND_TEXT.replace(FOLDER, str(ROOT / "lifecycle_scripts")).replace(
            '"$@"', "--help"
        )
        said = subprocess.run(
            ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert "usage: slurmpod-health" in said.stdout, said.stderr


def test_the_file_system_is_not_written_to_where_root_may_not() -> None:
    shared = replace(LUSTRE, root_squash=True)
    checks = HealthChecks(node(Role.WORKER, node=OPTIONS, file_systems=(shared,)))
    checks.apply()
    folders = json.loads(machine_of(checks.node).files[EXPECTATIONS])["shared_folders"]
    assert folders == [{"path": "/fsx", "writable": False}]
