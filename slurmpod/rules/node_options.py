"""Rules for node options beyond Slurm: scratch, SSH, hooks, packages."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.cluster import Role
from slurmpod.problems import Severity, YamlPath
from slurmpod.reading.hooks import RULE
from slurmpod.resolve import Resolved
from slurmpod.rules.file_systems import SCRATCH, new_openzfs
from slurmpod.rules.groups import CATALOG, all_types_known, known_types
from slurmpod.rules.lifecycle import (
    FOR_SSH,
    SCRIPTS,
    architectures,
    is_missing,
    is_ours,
    needed,
)
from slurmpod.rules.people import has_people
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding

NODE_OPTIONS = Area("NOD", "Node options", reads=("lifecycle",))

ADOPT = "https://slurm.schedmd.com/pam_slurm_adopt.html"

BETWEEN_NODES = ("access", "ssh_between_nodes")
NEEDS_JOB = ("access", "ssh_needs_job")


def asked_of_nodes(resolved: Resolved) -> Iterator[YamlPath]:
    """Yield the keys outside `lifecycle` that only slurmpod's own scripts apply."""
    if resolved.environment.storage.scratch:
        yield SCRATCH
    if resolved.environment.checks:
        yield ("checks",)
    for path in (BETWEEN_NODES, NEEDS_JOB):
        if getattr(resolved.environment.access, path[-1]):
            yield path


@NODE_OPTIONS.rule(
    "NOD-001",
    "In managed mode there are no node options that need scripts",
    why="HyperPod then sets up nodes without scripts, and its API has no field for this.",
    fix="write 'mode: extended' under lifecycle, or remove the key",
    source=SCRIPTS,
    reads=("access", "checks", "storage", *LIFECYCLE_MODE),
)
def _managed_mode_does_it(resolved: Resolved) -> Iterator[Finding]:
    if resolved.lifecycle.mode == "managed":
        for path in asked_of_nodes(resolved):
            yield Finding(path, "this is not done in managed mode", at_key=True)


@NODE_OPTIONS.rule(
    "NOD-002",
    "Some nodes have disks for scratch",
    why="Scratch is made of the NVMe disks of an instance. On types without any, the folder is "
    "not there, and jobs that write to it fail.",
    fix="choose a type with NVMe disks for a group, or remove the key",
    source=CATALOG,
    severity=Severity.WARNING,
    reads=("cluster", "storage"),
)
def _disks_are_there(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.environment.storage.scratch or not all_types_known(resolved):
        return
    if not any(facts.local_nvme_gb for group in resolved.groups for facts in known_types(group)):
        yield Finding(SCRATCH, "no group has instances with NVMe disks", at_key=True)


@NODE_OPTIONS.rule(
    "NOD-003",
    "The keys for SSH between nodes are on shared storage",
    why="The first node makes the keys; the others find them on a file system that all of them "
    "mount, and where root may write: one that this environment makes, without root squash.",
    fix="add such a file system under storage, or remove the key",
    source="lifecycle_scripts/slurmpod_lifecycle/steps/ssh_between_nodes.py",
    reads=("access", "lifecycle", "name", "storage"),
)
def _keys_are_shared(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.environment.access.ssh_between_nodes or not is_ours(resolved):
        return
    lustre = [each.settings for each in resolved.lustre]
    is_there = any(not each.existing and not each.root_squash for each in lustre)
    if not is_there and not new_openzfs(resolved):
        yield Finding(BETWEEN_NODES, "nodes share no folder that root may write to")


@NODE_OPTIONS.rule(
    "NOD-004",
    "There are users to whom the restriction applies",
    why="The restriction applies to users: root and the image's own user can log in anywhere. "
    "Without other users it protects nothing.",
    fix="list people under access.users or name their directory, or remove the key",
    source=ADOPT,
    severity=Severity.WARNING,
    reads=("access", "lifecycle", "name"),
)
def _people_are_there(resolved: Resolved) -> Iterator[Finding]:
    is_wanted = resolved.environment.access.ssh_needs_job and is_ours(resolved)
    if is_wanted and not has_people(resolved):
        yield Finding(NEEDS_JOB, "there are no users except the image's")


@NODE_OPTIONS.rule(
    "NOD-005",
    "Scripts beside the steps have nodes to run on",
    why="They run on the nodes of their role only.",
    fix="add a group of this role, or remove the key",
    source=SCRIPTS,
    severity=Severity.WARNING,
    reads=("cluster", "lifecycle"),
)
def _hooks_run_somewhere(resolved: Resolved) -> Iterator[Finding]:
    for role in Role:
        hooks = getattr(resolved.environment.lifecycle.hooks, role)
        if (hooks.before or hooks.after) and not resolved.groups_with(role):
            message = f"there is no {role} group"
            yield Finding(("lifecycle", "hooks", role.value), message, at_key=True)


@NODE_OPTIONS.rule(
    "NOD-006",
    "Jobs resume in place where HyperPod replaces nodes",
    why="The restriction to users with a job needs PrologFlags=Contain. With it Slurm starts no "
    "step on a node that was replaced under a running job: `srun --auto-resume=1` cannot go on, "
    "and the job has to be requeued.",
    fix="remove 'ssh_needs_job: true', or submit jobs with --requeue and accept this warning",
    source="lifecycle_scripts/slurmpod_lifecycle/steps/job_bound_ssh.py",
    severity=Severity.WARNING,
    reads=("access", "cluster", "lifecycle", "name"),
)
def _jobs_resume(resolved: Resolved) -> Iterator[Finding]:
    is_wanted = resolved.environment.access.ssh_needs_job and is_ours(resolved)
    if is_wanted and resolved.node_recovery == "Automatic":
        yield Finding(NEEDS_JOB, "jobs cannot resume on a node that was replaced under them")


@NODE_OPTIONS.rule(
    "NOD-007",
    "Workers have the module that restricts login to users with a job",
    why="HyperPod's images are not known to have pam_slurm_adopt.so: public lifecycle scripts "
    "compile it from Slurm's source. A worker without it fails, because a missing restriction "
    "would go unnoticed.",
    fix="list pam_slurm_adopt under lifecycle.artefacts for every architecture, give every worker "
    "group the image_id of an image that has it, or accept this warning",
    source=ADOPT,
    severity=Severity.WARNING,
    reads=("access", "cluster", "lifecycle", "name"),
)
def _module_is_there(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.environment.access.ssh_needs_job or not is_ours(resolved):
        return
    workers = resolved.groups_with(Role.WORKER)
    has_other_images = all(group.settings.image_id for group in workers)
    if is_missing(resolved, *FOR_SSH) and not has_other_images:
        message = "HyperPod's own images are not known to have pam_slurm_adopt.so"
        yield Finding(NEEDS_JOB, message)


HOOKS = Area("HOK", "Scripts of your own around the steps")

HOOKS.reported_elsewhere(
    RULE,
    "The scripts of hooks can be read and run",
    why="A hook that cannot be started fails every node of its role after minutes. The first line "
    "says what runs it, because S3 does not keep that a file is a program; with Windows line ends "
    "it would ask for one whose name ends in a carriage return.",
    fix="name a UTF-8 text of at most 1 MB that begins with #!, with LF line ends",
    source="slurmpod/reading/hooks.py",
)


ARTEFACTS = Area("ART", "Packages for nodes", reads=("lifecycle",))

MODEL = "slurmpod/environment/lifecycle.py"
ENROOT = "https://github.com/NVIDIA/enroot/blob/main/doc/installation.md"

NEEDED_FOR_CONTAINERS = ("enroot", "pyxis")
"""Without enroot_caps users cannot build images on nodes; containers run nevertheless."""


@ARTEFACTS.rule(
    "ART-001",
    "Every package is listed once for each architecture",
    why="A node installs one package of a name: of two, one would never arrive anywhere.",
    fix="remove one of the two, or correct its architecture",
    source=MODEL,
)
def _listed_once(resolved: Resolved) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for index, artefact in enumerate(resolved.environment.lifecycle.artefacts):
        key = (artefact.name, artefact.architecture)
        if key in seen:
            message = f"'{artefact.name}' is listed for {artefact.architecture} already"
            yield Finding(_at(index, "name"), message)
        seen.add(key)


@ARTEFACTS.rule(
    "ART-002",
    "Every package is for nodes that there are",
    why="Nodes install only packages for their own processors. The package would be mirrored and "
    "kept up to date without being used.",
    fix="remove the entry, or correct its architecture",
    source=CATALOG,
    severity=Severity.WARNING,
    reads=("cluster", "lifecycle"),
)
def _for_nodes_that_there_are(resolved: Resolved) -> Iterator[Finding]:
    if not all_types_known(resolved):
        return
    there_are = architectures(resolved)
    for index, artefact in enumerate(resolved.environment.lifecycle.artefacts):
        if artefact.architecture not in there_are:
            key = "architecture" if "architecture" in artefact.model_fields_set else "name"
            message = f"no group has instances with {artefact.architecture} processors"
            yield Finding(_at(index, key), message)


@ARTEFACTS.rule(
    "ART-003",
    "Every package is of use",
    why="Steps install what they need: the packages of enroot and pyxis for containers, mount_s3 "
    "for buckets as folders, pam_slurm_adopt for SSH with a job. What no step needs is installed "
    "nowhere.",
    fix="remove the entry, or ask for what needs it: lifecycle.containers, storage.s3_mounts, "
    "access.ssh_needs_job",
    source=MODEL,
    severity=Severity.WARNING,
    reads=("access", "lifecycle", "storage"),
)
def _is_of_use(resolved: Resolved) -> Iterator[Finding]:
    wanted = needed(resolved)
    for index, artefact in enumerate(resolved.environment.lifecycle.artefacts):
        if artefact.name not in wanted:
            yield Finding(_at(index, "name"), f"nothing asks for '{artefact.name}'")


@ARTEFACTS.rule(
    "ART-004",
    "In a closed network nodes can get what containers need",
    why="HyperPod's images of January 2026 and later have enroot and pyxis. On one that lacks "
    "them, nodes of a closed network can install only what the environment's bucket holds.",
    fix="list the packages under lifecycle.artefacts and run `slurmpod artefacts mirror`, or "
    "accept the warning where the image has them",
    source=ENROOT,
    severity=Severity.WARNING,
    reads=("cluster", "lifecycle", "name", "network"),
)
def _containers_without_internet(resolved: Resolved) -> Iterator[Finding]:
    containers = resolved.environment.lifecycle.containers
    if not (containers and resolved.network.closed and is_ours(resolved)):
        return
    missing = [name for name in NEEDED_FOR_CONTAINERS if is_missing(resolved, name)]
    if missing:
        message = f"{' and '.join(missing)} would have to be on the image"
        yield Finding(("lifecycle", "containers"), message)


def _at(index: int, key: str) -> YamlPath:
    return ("lifecycle", "artefacts", index, key)
