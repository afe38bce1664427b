"""enroot with pyxis, for `srun --container-image`; the image's own setup stays.

HyperPod's current images have both; others get the packages that the environment names. pyxis is
installed before slurmd starts, as the controller's plugstack.conf requires it on every node:
without it a job that asks for a container fails, rather than run without one. So does every other
job, which is why the step is required.

There is one plugstack.conf for all nodes, but pyxis' package has the library in a folder that is
named after the architecture (its debian/rules): such a node gets a link to it at a path for all.
pyxis is in plugstack.conf inline, and once: slurmctld sends plugstack.conf to configless nodes, but
no file that it includes by a path, and no pattern of files. Images load pyxis by such an include.
Nodes without that file would not know `--container-image`; on nodes that have it, a second line
would load pyxis twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from slurmpod_lifecycle import slurm
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.packages import architecture, install_artefact
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.steps.slurmctld import complete_slurm_conf

PLUGSTACK = f"{slurm.CONFIGURATION}/plugstack.conf"
IN_FORCE = f"{PLUGSTACK}.in-force"
"""A copy of the file that slurmctld sends to the nodes, or will from its first start on."""

PLUGIN_FOLDERS = ("/usr/local/lib/slurm", "/opt/slurm/lib", "/usr/lib")
"""Possible paths of the library; the first that exists counts, and holds the link."""

OF_ONE_ARCHITECTURE = "-linux-gnu/"
"""The architecture in the paths of such folders (Debian's multiarch)."""

PLUGIN = "spank_pyxis.so"
_INCLUDE = re.compile(r"^\s*include\s+(\S+)\s*$", re.IGNORECASE)


class Containers(NodeStep):
    """enroot and pyxis are installed, and Slurm loads pyxis on every node, once."""

    name = "containers"
    roles = frozenset(Role)
    needs = ("image_facts",)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables containers."""
        return super().applies_to(node) and node.settings.node.containers

    def is_done(self) -> bool:
        """Return whether nothing is missing, and the nodes have the configuration."""
        library = self._library()
        if library is None or OF_ONE_ARCHITECTURE in library or not self._has_enroot():
            return False
        if self.node.role is not Role.CONTROLLER:
            return True
        wanted = self._plugstack(library)
        return all(self.node.machine.read(path) == wanted for path in (PLUGSTACK, IN_FORCE))

    def apply(self) -> str:
        """Install what is missing; on the controller, let plugstack.conf load pyxis.

        Raises StepFailed for what neither the image nor the environment has.
        """
        added = []
        if not self._has_enroot():
            self._install("enroot")
            install_artefact(self.node, "enroot_caps")
            added.append("enroot")
        if self._library() is None:
            self._install("pyxis")
            added.append("pyxis")
        library = self._library()
        if library is None:
            raise StepFailed(f"the package pyxis has no {PLUGIN}", "correct lifecycle.artefacts")
        if OF_ONE_ARCHITECTURE in library:
            library = self._linked(library)
        if self.node.role is Role.CONTROLLER:
            self._hand_out(library)
        return f"added {' and '.join(added)}" if added else "the image has enroot and pyxis"

    def _install(self, name: str) -> None:
        if not install_artefact(self.node, name):
            package = f"name '{name}' for {architecture(self.node)} under lifecycle.artefacts"
            raise StepFailed(f"this image has no {name}", f"{package}, or use an image that has it")

    def _linked(self, library: str) -> str:
        """Return the path of the library that is common to all nodes, after making the link."""
        path = f"{PLUGIN_FOLDERS[0]}/{PLUGIN}"
        self.node.machine.run("mkdir", "-p", PLUGIN_FOLDERS[0])
        self.node.machine.run("ln", "--symbolic", "--force", library, path)
        return path

    def _hand_out(self, library: str) -> None:
        """Write plugstack.conf, and let a running slurmctld send it to the nodes.

        HyperPod may write it together with slurm.conf, late; raises NotYet until then.
        """
        machine = self.node.machine
        complete_slurm_conf(self.node)
        plugstack = self._plugstack(library)
        machine.write(PLUGSTACK, plugstack)
        if machine.succeeds("systemctl", "is-active", "--quiet", "slurmctld"):
            slurm.command(machine, "scontrol", "reconfigure")
        machine.write(IN_FORCE, plugstack)

    def _plugstack(self, library: str) -> str:
        return with_pyxis(self.node.machine.read(PLUGSTACK) or "", library, self._texts_of)

    def _texts_of(self, pattern: str) -> list[str]:
        """Return the texts of the files that an include of plugstack.conf names."""
        machine = self.node.machine
        folder, _, name = pattern.rpartition("/")
        folder = folder or slurm.CONFIGURATION
        if not machine.succeeds("test", "-d", folder):
            return []
        found = machine.run("find", "-L", folder, "-maxdepth", "1", "-type", "f", "-name", name)
        return [machine.read(path) or "" for path in sorted(found.splitlines())]

    def _library(self) -> str | None:
        """Return the path of pyxis' library, or None if the image has none.

        Links below the folders are not followed: `find` fails at cyclic ones, which development
        packages contain, and modules link to the sources of the kernel.
        """
        machine = self.node.machine
        folders = [each for each in PLUGIN_FOLDERS if machine.succeeds("test", "-d", each)]
        found = machine.run("find", "-H", *folders, "-name", PLUGIN).split()
        return found[0] if found else None

    def _has_enroot(self) -> bool:
        return self.node.machine.succeeds("which", "enroot")


def with_pyxis(text: str, library: str, files_of: Callable[[str], Sequence[str]]) -> str:
    """Return plugstack.conf with one line for pyxis, the last one.

    `files_of` returns the texts of the files that a pattern names. The other contents of a file
    that loads pyxis move into plugstack.conf with it; other includes stay. Options that the image
    gives pyxis are kept.
    """
    lines = [line for each in text.splitlines() for line in _inlined(each, files_of)]
    loading = [line for line in lines if _loads_pyxis(line)]
    options = loading[0].split()[2:] if loading else []
    kept = [line for line in lines if not _loads_pyxis(line)]
    return "".join(f"{line}\n" for line in [*kept, " ".join(["required", library, *options])])


def _inlined(line: str, files_of: Callable[[str], Sequence[str]]) -> list[str]:
    """Return the lines of an include, if one of them loads pyxis; else the include itself."""
    match = _INCLUDE.match(line)
    if match is None:
        return [line]
    lines = [each for text in files_of(match.group(1)) for each in text.splitlines()]
    return lines if any(map(_loads_pyxis, lines)) else [line]


def _loads_pyxis(line: str) -> bool:
    words = line.split("#")[0].split()
    return len(words) > 1 and words[1].rpartition("/")[2] == PLUGIN
