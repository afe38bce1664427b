"""Programs that a node runs again and again, by a timer of systemd."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from slurmpod_lifecycle import units
from slurmpod_lifecycle.machine import Machine


@dataclass(frozen=True)
class TimedProgram:
    """A file at `path` that says `text`, run by `interpreter` some seconds after its last run.

    `beside` has what it needs, by path.
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
        """Return what all files say, by path: the timer first, which stops first when it goes."""
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
        """Return whether the timer runs, and starts this very program."""
        are_written = all(machine.read(path) == text for path, text in self.files().items())
        return are_written and units.is_running(machine, self.timer)

    def start(self, machine: Machine) -> None:
        """Install the program and start the timer; raises NotYet where systemd does not."""
        for path, text in self.files().items():
            machine.write(path, text)
        units.reload_if_needed(machine, self.unit)
        units.reload_if_needed(machine, self.timer)
        units.start(machine, self.timer, anew=True)
