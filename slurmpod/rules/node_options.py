"""Rules for what is asked of nodes beyond Slurm: scratch, SSH, scripts beside the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.problems import Severity
from slurmpod.rules.file_systems import SCRATCH, new_openzfs
from slurmpod.rules.groups import CATALOG, all_types_known, known_types
from slurmpod.rules.lifecycle import SCRIPTS, is_ours
from slurmpod.rules.people_places import has_people
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved

NODE_OPTIONS = Area("NOD", "What is asked of nodes")

ADOPT = "https://slurm.schedmd.com/pam_slurm_adopt.html"

BETWEEN_NODES = ("access", "ssh_between_nodes")
NEEDS_JOB = ("access", "ssh_needs_job")


def asked_of_nodes(environment: Environment) -> Iterator[YamlPath]:
    """Yield the keys outside of `lifecycle` that only slurmpod's own scripts put into force."""
    if environment.storage.scratch:
        yield SCRATCH
    for path in (BETWEEN_NODES, NEEDS_JOB):
        if getattr(environment.access, path[-1]):
            yield path


@NODE_OPTIONS.rule(
    "NOD-001",
    "In managed mode nothing is asked of nodes that only scripts can do",
    why="HyperPod then sets nodes up by itself, and its API has no place for this.",
    fix="write 'mode: extended' under lifecycle, or remove the key",
    source=SCRIPTS,
)
def _managed_mode_does_it(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.lifecycle.mode == "managed":
        for path in asked_of_nodes(environment):
            yield Finding(path, "nobody does this in managed mode", at_key=True)


@NODE_OPTIONS.rule(
    "NOD-002",
    "Some nodes have disks for scratch",
    why="Scratch is made of the NVMe disks of an instance. On types without any, the folder is "
    "not there, and jobs that write to it fail.",
    fix="choose a type with NVMe disks for a group, or remove the key",
    source=CATALOG,
    severity=Severity.WARNING,
)
def _disks_are_there(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if not environment.storage.scratch or not all_types_known(environment):
        return
    groups = environment.cluster.groups
    if not any(facts.local_nvme_gb for group in groups for facts in known_types(group)):
        yield Finding(SCRATCH, "no group has instances with NVMe disks", at_key=True)


@NODE_OPTIONS.rule(
    "NOD-003",
    "Somebody shares the keys for SSH between nodes",
    why="The first node makes the keys; the others find them on a file system that all of them "
    "mount, and where root may write: one that this environment makes, without root squash.",
    fix="add such a file system under storage, or remove the key",
    source="lifecycle_scripts/slurmpod_lifecycle/steps/ssh_between_nodes.py",
)
def _keys_are_shared(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    if not environment.access.ssh_between_nodes or not is_ours(resolved):
        return
    lustre = [each.settings for each in resolved.lustre]
    is_there = any(not each.existing and not each.root_squash for each in lustre)
    if not is_there and not new_openzfs(environment):
        yield Finding(BETWEEN_NODES, "nodes have no place in common to which root may write")


@NODE_OPTIONS.rule(
    "NOD-004",
    "There are people whom a job lets in",
    why="The rule is for users: whoever is root, and the image's own user, goes everywhere. Where "
    "nobody else is there it protects nothing.",
    fix="list people under access.users or name their directory, or remove the key",
    source=ADOPT,
    severity=Severity.WARNING,
)
def _people_are_there(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    is_wanted = environment.access.ssh_needs_job and is_ours(resolved)
    if is_wanted and not has_people(resolved):
        yield Finding(NEEDS_JOB, "there is nobody but the image's user")


@NODE_OPTIONS.rule(
    "NOD-005",
    "Scripts beside the steps have nodes to run on",
    why="They run on the nodes of their role only.",
    fix="add a group of this role, or remove the key",
    source=SCRIPTS,
    severity=Severity.WARNING,
)
def _hooks_run_somewhere(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for role in Role:
        hooks = getattr(environment.lifecycle.hooks, role)
        if (hooks.before or hooks.after) and not resolved.groups_with(role):
            message = f"there is no {role} group"
            yield Finding(("lifecycle", "hooks", role.value), message, at_key=True)


@NODE_OPTIONS.rule(
    "NOD-006",
    "Jobs resume in place where HyperPod replaces nodes",
    why="What lets only people with a job in needs PrologFlags=Contain. With it Slurm starts no "
    "step on a node that was replaced under a running job: `srun --auto-resume=1` cannot go on, "
    "and the job has to be requeued.",
    fix="remove 'ssh_needs_job: true', or submit jobs with --requeue and accept this warning",
    source="lifecycle_scripts/slurmpod_lifecycle/steps/job_bound_ssh.py",
    severity=Severity.WARNING,
)
def _jobs_resume(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    is_wanted = environment.access.ssh_needs_job and is_ours(resolved)
    if is_wanted and resolved.node_recovery == "Automatic":
        yield Finding(NEEDS_JOB, "jobs cannot resume on a node that was replaced under them")
