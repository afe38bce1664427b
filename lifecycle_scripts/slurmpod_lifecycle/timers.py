"""Programs that a node runs at an interval, with a systemd timer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from slurmpod_lifecycle import units
from slurmpod_lifecycle.machine import Machine


@dataclass(frozen=True)
class TimedProgram:
    """A program at `path`, run by `interpreter` some seconds after its last run.

    `beside` has the files that it needs, by path.
    """

    unit: str
    path: str
    text: str
    interpreter: str
    seconds: int
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def timer(self) -> str:
        """The name of the timer for systemctl."""
        return f"{self.unit}.timer"

    def files(self) -> Mapping[str, str]:
        """Return all files by path: the timer first, which is the first to stop on removal."""
        service = f"""\
# Written by slurmpod's lifecycle scripts.
[Service]
Type=oneshot
ExecStart=/usr/bin/env {self.interpreter} {self.path}
"""
        timer = f"""\
# Written by slurmpod's lifecycle scripts.
[Timer]
OnActiveSec={self.seconds}
OnUnitInactiveSec={self.seconds}
AccuracySec=1

[Install]
WantedBy=timers.target
"""
        of_systemd = {f"{units.UNITS}/{self.timer}": timer, units.unit_path(self.unit): service}
        return {**of_systemd, **self.beside, self.path: self.text}

    def is_done(self, machine: Machine) -> bool:
        """Return whether the timer runs the current program."""
        are_written = all(machine.read(path) == text for path, text in self.files().items())
        return are_written and units.is_running(machine, self.timer)

    def start(self, machine: Machine) -> None:
        """Install the program and start the timer; raises NotYet if systemd does not start it."""
        for path, text in self.files().items():
            machine.write(path, text)
        units.reload_if_needed(machine, self.unit)
        units.reload_if_needed(machine, self.timer)
        units.start(machine, self.timer, restart=True)
