"""SSH to a worker only for users with a running job there: pam_slurm_adopt(8).

The module looks for the extra step that PrologFlags=Contain gives every job, which `slurm_settings`
sets; earlier jobs are unknown to it. It controls access only: TaskPlugin stays task/none, which
HyperPod's auto-resume needs, so that a session is not limited to the job's resources.

With that flag Slurm starts no step on a node that was replaced under a job (24.11 to 25.11: slurmd
times out waiting for REQUEST_LAUNCH_PROLOG and drains itself): jobs cannot resume in place.

The line is the last one of sshd's account stack, as the module's documentation asks. root, the
image's user and administrators are admitted before it.

HyperPod's images are not known to have the module; without it, it is installed from a package that
the environment names. The step depends on no other: a node that cannot have the module fails at
once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.packages import install_artefact
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.steps.user_folder import USER

PAM_FILE = "/etc/pam.d/sshd"
MODULE = "pam_slurm_adopt.so"
FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
BEGIN = "# Written by slurmpod's lifecycle scripts, up to the line that ends it."
END = "# End of slurmpod's lines."
OPTIONS = "action_adopt_failure=deny action_generic_failure=deny"

ARTEFACT = "pam_slurm_adopt"
FIX = (
    f"name a package with it as {ARTEFACT} under lifecycle.artefacts, use an image with {MODULE},"
    " built for its Slurm (image_id of the group), or set access.ssh_needs_job to false"
)


class JobBoundSsh(NodeStep):
    """sshd asks Slurm; required, as a missing access control would go unnoticed."""

    name = "job_bound_ssh"
    roles = frozenset({Role.WORKER})
    needs = ("image_facts",)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables it."""
        return super().applies_to(node) and node.settings.node.ssh_needs_job

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return sshd's PAM file without our lines.

        They would admit no user: the environment no longer gives jobs the step that the module
        looks for.
        """
        text = machine.read(PAM_FILE)
        return {PAM_FILE: None if text is None else without_lines(text)}

    def is_done(self) -> bool:
        """Return whether the file has the lines already, with all exempt users."""
        text = self.node.machine.read(PAM_FILE) or ""
        module = _module_in(text)
        return module is not None and text == with_lines(text, module, self._exempt())

    def apply(self) -> str:
        """Complete sshd's PAM file, which sshd reads at every login."""
        machine = self.node.machine
        text = machine.read(PAM_FILE)
        if text is None:
            raise StepFailed(f"this image has no {PAM_FILE}", FIX)
        machine.write(PAM_FILE, with_lines(text, self._find_module(), self._exempt()))
        return f"SSH needs a job, except for {', '.join(self._exempt())}"

    def _find_module(self) -> str:
        """Return the path of the module, after installing it if the image has none.

        Raises StepFailed without one: PAM rejects all users for a module that it cannot load.
        """
        found = self._modules()
        if not found and install_artefact(self.node, ARTEFACT):
            found = self._modules()
        if not found:
            raise StepFailed(f"this image has no {MODULE}", FIX)
        return found[0]

    def _modules(self) -> list[str]:
        machine = self.node.machine
        folders = [each for each in FOLDERS if machine.succeeds("test", "-d", each)]
        found = machine.run("find", *folders, "-name", MODULE, "-path", "*/security/*")
        return sorted(found.split())

    def _exempt(self) -> tuple[str, ...]:
        """Return the users and groups that need no job."""
        admins = (user.name for user in self.node.settings.access.users if user.admin)
        return ("root", USER, *sorted(admins))


def with_lines(text: str, module: str, exempt: Sequence[str]) -> str:
    """Return the text of a PAM file with our lines at its end, exactly once."""
    rest = without_lines(text)
    rest += "" if rest.endswith("\n") or not rest else "\n"
    return (
        f"{rest}{BEGIN}\n"
        f"account [success=1 default=ignore] pam_succeed_if.so quiet user in {':'.join(exempt)}\n"
        f"account required {module} {OPTIONS}\n"
        f"{END}\n"
    )


def without_lines(text: str) -> str:
    """Return the text of a PAM file without our lines."""
    return re.sub(rf"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n", "", text, flags=re.DOTALL)


def _module_in(text: str) -> str | None:
    match = re.search(rf"^account required (\S*/{re.escape(MODULE)}) ", text, re.MULTILINE)
    return match.group(1) if match else None
