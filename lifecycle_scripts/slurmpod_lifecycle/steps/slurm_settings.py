"""The environment's additions to slurm.conf: see `slurm_files` for how they are kept in place."""

from __future__ import annotations

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.slurm_files import (
    IN_FORCE,
    KEEPER_PROGRAM,
    KEEPER_UNIT,
    LIMITS_PROGRAM,
    SLURMPOD_CONF,
    START_PROGRAM,
    WATCH_UNIT,
    keeper_program,
    limits_program,
    slurmpod_conf,
    start_program,
)
from slurmpod_lifecycle.step import CommandFailed, StepFailed
from slurmpod_lifecycle.steps.accounting import ACCOUNTING_CONF
from slurmpod_lifecycle.steps.shared_state import TAKEOVER_PROGRAM

CANDIDATE = f"{SLURMPOD_CONF}.candidate"
KEEPER = "slurmpod-keep"
WATCH = f"{KEEPER}.path"
WATCH_PATH = f"{units.UNITS}/{WATCH}"
FIX = "correct slurm.settings in the environment; 'slurmpod validate' knows most of the forms"


class SlurmSettings(NodeStep):
    """slurm.conf includes slurmpod.conf, now and whenever HyperPod rewrites it."""

    name = "slurm_settings"
    roles = frozenset({Role.CONTROLLER})
    needs = ("image_facts", "bar_daemons", "shared_state", "accounting")

    def is_done(self) -> bool:
        """Return whether slurmctld has these settings, or there are none and never were."""
        machine = self.node.machine
        if not (self._has_some() or machine.read(SLURMPOD_CONF)):
            return True
        conf, programs = self._conf(), self._programs()
        services = {units.unit_path(KEEPER): KEEPER_UNIT, WATCH_PATH: WATCH_UNIT}
        files = {SLURMPOD_CONF: conf, **programs, **services}
        return (
            all(machine.read(path) == text for path, text in files.items())
            and machine.read(IN_FORCE) == conf
            and units.is_running(machine, WATCH)
        )

    def apply(self) -> str:
        """Check the parameters, write all files, and let a running slurmctld read them.

        Raises StepFailed for parameters that this image's Slurm cannot read.
        """
        machine, conf, programs = self.node.machine, self._conf(), self._programs()
        self._check(conf)
        for path, text in programs.items():
            machine.write(path, text, mode=0o755)
        machine.write(SLURMPOD_CONF, conf)
        self._watch()
        if machine.succeeds("systemctl", "is-active", "--quiet", "slurmctld"):
            self._let_read(conf)
        machine.write(IN_FORCE, conf)
        return f"slurm.conf includes {SLURMPOD_CONF}"

    def _let_read(self, conf: str) -> None:
        """Let slurmctld read the changes, once: usually the keeper does, unless it ran already."""
        machine = self.node.machine
        machine.run("systemctl", "start", KEEPER)
        if machine.read(IN_FORCE) != conf:
            slurm.command(machine, "scontrol", "reconfigure")
        slurm.check_slurmctld(machine)

    def _conf(self) -> str:
        return slurmpod_conf(self.node.settings.slurm, self.node.settings.node)

    def _programs(self) -> dict[str, str]:
        """Return the controller's programs by path."""
        settings = self.node.settings
        takeover = TAKEOVER_PROGRAM if settings.multi_head else ""
        return {
            START_PROGRAM: start_program(then=takeover),
            LIMITS_PROGRAM: limits_program(settings.slurm.partitions),
            KEEPER_PROGRAM: self._keeper(),
        }

    def _has_some(self) -> bool:
        """Return whether the environment changes anything in slurm.conf."""
        wanted, options = self.node.settings.slurm, self.node.settings.node
        return bool(
            self._keeps_accounting()
            or wanted.configuration
            or wanted.partitions
            or options.health_checks
            or options.ssh_needs_job
            or options.accelerator_kinds
        )

    def _keeps_accounting(self) -> bool:
        """Return whether these scripts set up accounting: in extended mode HyperPod does."""
        settings = self.node.settings
        return settings.accounting and settings.mode is Mode.CUSTOMER

    def _keeper(self) -> str:
        """Return the keeper, for the files that are ours."""
        files = [ACCOUNTING_CONF] if self._keeps_accounting() else []
        kinds = self.node.settings.node.accelerator_kinds
        return keeper_program(*files, SLURMPOD_CONF, gres_types=kinds)

    def _check(self, conf: str) -> None:
        """Let one of Slurm's commands parse the parameters, as slurmctld would end at an error."""
        machine = self.node.machine
        machine.write(CANDIDATE, f"ClusterName=check\nSlurmctldHost=localhost\n{conf}")
        reader = ("env", f"SLURM_CONF={CANDIDATE}", f"{slurm.COMMANDS}/scontrol")
        try:
            machine.run(*reader, "show", "hostnames", "check")
        except CommandFailed as error:
            raise StepFailed(f"Slurm refuses the settings: {error.reason}", FIX) from None

    def _watch(self) -> None:
        machine = self.node.machine
        units.add_unit(machine, KEEPER, KEEPER_UNIT)
        machine.write(WATCH_PATH, WATCH_UNIT)
        units.reload_if_needed(machine, WATCH)
        if not machine.succeeds("systemctl", "is-enabled", "--quiet", KEEPER):
            machine.run("systemctl", "enable", "--quiet", KEEPER)  # for slurmctld's unit
        units.start(machine, WATCH, restart=True)
