"""Programs that a node runs at every boot: modules of this package, copied to where it stays.

The folder of the bundle is in /tmp, and HyperPod does not run the scripts at a reboot.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slurmpod_lifecycle import units
from slurmpod_lifecycle.machine import Machine

FOLDER = "/usr/local/lib/slurmpod/boot"
PACKAGE = Path(__file__).parent


class BootProgram:
    """A module of this package that a service runs once at every boot, and now.

    `arguments` are the words for it, `unit_lines` say when systemd starts it.
    """

    def __init__(self, unit: str, module: str, arguments: tuple[str, ...], unit_lines: str) -> None:
        self.unit = unit
        self._module = module
        self._arguments = arguments
        self._unit_lines = unit_lines

    def is_done(self, machine: Machine) -> bool:
        """Tell whether it has run since the boot, and will at the next one, as it is here."""
        files_are_right = all(machine.read(path) == text for path, text in self._files().items())
        return files_are_right and units.is_running(machine, self.unit)

    def start(self, machine: Machine) -> None:
        """Install and run it; raises NotYet with its own words when it fails.

        The service counts as stopped before its files change: whatever interrupts this, it does not
        pass for one that has run as they say now.
        """
        if machine.succeeds("systemctl", "is-active", "--quiet", self.unit):
            machine.run("systemctl", "stop", self.unit)
        for path, text in self._files().items():
            machine.write(path, text)
        units.reload_if_needed(machine, self.unit)
        units.start(machine, self.unit)

    def _files(self) -> Mapping[str, str]:
        modules = {
            f"{FOLDER}/{path.relative_to(PACKAGE.parent).as_posix()}": path.read_text("utf-8")
            for path in sorted(PACKAGE.rglob("*.py"))
        }
        return {units.unit_path(self.unit): self._service(), **modules}

    def _service(self) -> str:
        words = ("/usr/bin/env", "python3", "-m", f"{PACKAGE.name}.{self._module}")
        return f"""\
# Written by slurmpod's lifecycle scripts.
[Unit]
{self._unit_lines}

[Service]
Type=oneshot
RemainAfterExit=yes
Environment=PYTHONDONTWRITEBYTECODE=1
WorkingDirectory={FOLDER}
ExecStart={" ".join(map(units.quoted, (*words, *self._arguments)))}

[Install]
WantedBy=multi-user.target
"""
