"""Rules for a provisioning_parameters.json among the user's own scripts.

HyperPod and the scripts read the groups' roles from it. It is deployed unchanged, so it must match
the environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.request import is_configured_by_api
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import GUIDE
from slurmpod.rules.lifecycle import SCRIPTS
from slurmpod.rules.multi_head import GUIDE_TO_IT
from slurmpod.rules.own_scripts import FOLDER
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding

PROVISIONING_FILE = Area("PPF", "A provisioning_parameters.json of your own", reads=LIFECYCLE_MODE)

MIGRATION = f"{GUIDE}sagemaker-hyperpod-slurm-api-config-migration.html"

LUSTRE_KEYS = ("fsx_dns_name", "fsx_mountname")


@PROVISIONING_FILE.rule(
    "PPF-001",
    "It is JSON of the form that HyperPod reads",
    why="HyperPod and the scripts of AWS read version, workload_manager, controller_group and "
    "worker_groups from it. With any other workload manager than slurm, Slurm is not set up.",
    fix="correct it, or remove the file: slurmpod then adds one",
    source=SCRIPTS,
    reads=("lifecycle",),
)
def _has_the_form(resolved: Resolved) -> Iterator[Finding]:
    content = content_of_parameters(resolved)
    if content is None:
        return
    try:
        document = from_json(content)
    except ValueError as error:
        yield _finding(f"is not JSON: {error}")
        return
    for mistake in mistakes_of_form(document):
        yield _finding(mistake)


@PROVISIONING_FILE.rule(
    "PPF-002",
    "It names the groups that there are, in their roles",
    why="HyperPod looks the names up in the cluster. A wrong one fails the first node that starts.",
    fix="use the names of cluster.groups, or remove the file: slurmpod then adds one",
    source=SCRIPTS,
    reads=("cluster", *LIFECYCLE_MODE),
)
def _groups_are_right(resolved: Resolved) -> Iterator[Finding]:
    document = parameters(resolved)
    if document is None:
        return
    roles = {group.name: group.role for group in resolved.groups}
    for name, role in _named(document):
        names = f"names the {role} group '{name}', and"
        if name not in roles:
            yield _finding(f"{names} there is no such group", did_you_mean(name, roles))
        elif roles[name] is not role:
            yield _finding(f"{names} that is a {roles[name]} group")
    logins = [group.name for group in resolved.groups_with(Role.LOGIN)]
    if logins and not document.get("login_group"):
        yield _finding(f"names no login_group, and there is '{logins[0]}'")


@PROVISIONING_FILE.rule(
    "PPF-003",
    "It gives the worker groups the partitions of the environment",
    why="Partitions come from this file: a group that it lacks has none, and rules have judged the "
    "names in the environment only.",
    fix="say the same in both, or remove the file: slurmpod then adds one",
    source=SCRIPTS,
    reads=("cluster", *LIFECYCLE_MODE),
)
def _partitions_are_the_same(resolved: Resolved) -> Iterator[Finding]:
    document = parameters(resolved)
    if document is None:
        return
    named = partitions_of(document)
    for group in resolved.groups_with(Role.WORKER):
        if group.name not in named:
            yield _finding(f"has no worker group '{group.name}'")
        elif named[group.name] != group.partition:
            message = f"gives '{group.name}' the partition '{named[group.name]}', not"
            yield _finding(f"{message} '{group.partition}'")


@PROVISIONING_FILE.rule(
    "PPF-004",
    "It names the file systems of the environment",
    why="The scripts mount what this file names. The nodes may not reach another file system, and "
    "the environment's own is not mounted.",
    fix="use the names of storage.lustre.existing, or remove the file: slurmpod then adds one",
    source=SCRIPTS,
    reads=("region", "storage", *LIFECYCLE_MODE),
)
def _mounts_existing(resolved: Resolved) -> Iterator[Finding]:
    document = parameters(resolved)
    if document is None:
        return
    for key, expected in _existing_names(resolved).items():
        given = document.get(key)
        if given and given != expected:
            yield _finding(f"has {key} '{given}', not '{expected}'")


@PROVISIONING_FILE.rule(
    "PPF-005",
    "It names no file system that the environment does not know",
    why="The names of a new file system are known when it has been made, not before: these are "
    "some other one's, or those of an earlier deployment.",
    fix="remove the file, and slurmpod adds one with the right names; or name the file system in "
    "storage as an existing one",
    source=SCRIPTS,
    severity=Severity.WARNING,
    reads=("region", "storage", *LIFECYCLE_MODE),
)
def _mounts_no_stranger(resolved: Resolved) -> Iterator[Finding]:
    document = parameters(resolved)
    if document is None:
        return
    known = _existing_names(resolved)
    for key in ("fsx_dns_name", "fsx_openzfs_dns_name"):
        if document.get(key) and key not in known:
            yield _finding(f"has {key} '{document[key]}', of no file system in the environment")


@PROVISIONING_FILE.rule(
    "PPF-006",
    "In extended mode there is no such file",
    why="The request says what each group is, and HyperPod refuses both: 'The LifeCycleConfig "
    "cannot include both a SLURM Orchestrator Config and a provisioning_parameters.json file'.",
    fix="remove the file, or write 'mode: customer'",
    source=MIGRATION,
)
def _not_in_extended_mode(resolved: Resolved) -> Iterator[Finding]:
    if content_of_parameters(resolved) is not None and is_configured_by_api(resolved):
        yield _finding("conflicts with a configuration in the API")


@PROVISIONING_FILE.rule(
    "PPF-007",
    "It describes several controllers as the environment does",
    why="Scripts take the database and the shared folder from slurm_configurations, and set up "
    "several controllers only when it is there.",
    fix="say the same in both, or remove the file: slurmpod then adds one",
    source=GUIDE_TO_IT,
    reads=("slurm", *LIFECYCLE_MODE),
)
def _controllers_are_the_same(resolved: Resolved) -> Iterator[Finding]:
    document, multi_head = parameters(resolved), resolved.slurm.multi_head
    if document is None or bool(document.get("slurm_configurations")) == bool(multi_head):
        return
    if multi_head:
        yield _finding("has no slurm_configurations, and there are several controllers")
    else:
        yield _finding("has slurm_configurations, and slurm.multi_head is not there")


@PROVISIONING_FILE.rule(
    "PPF-008",
    "It says how the Lustre file system is mounted",
    why="AWS's scripts mount it where the file has both fsx_dns_name and fsx_mountname. Otherwise "
    "it is not mounted, unless your scripts find it by other means, which slurmpod cannot check.",
    fix="write both, or remove the file: slurmpod then adds one; accept the warning where your "
    "scripts mount it otherwise",
    source=SCRIPTS,
    severity=Severity.WARNING,
    reads=("storage", *LIFECYCLE_MODE),
)
def _says_how_to_mount(resolved: Resolved) -> Iterator[Finding]:
    document, lustre = parameters(resolved), resolved.environment.storage.lustre
    if document is None:
        return
    given = [key for key in LUSTRE_KEYS if document.get(key)]
    lacking = [key for key in LUSTRE_KEYS if not document.get(key)]
    if given and lacking:
        yield _finding(f"has {given[0]}, but no {lacking[0]}")
    elif lacking and lustre:
        by_what = " nor ".join(lacking)
        yield _finding(f"has neither {by_what}, by which scripts mount {lustre.mount_path}")


def _finding(message: str, fix: str = "") -> Finding:
    return Finding(FOLDER, f"{FILE_NAME} {message}", fix)


def _named(document: Document) -> Iterator[tuple[str, Role]]:
    """Yield each name of a group, and the role that it is given."""
    yield document["controller_group"], Role.CONTROLLER
    if document.get("login_group"):
        yield document["login_group"], Role.LOGIN
    for name in partitions_of(document):
        if name != document.get("login_group"):  # AWS's own tools write it into both
            yield name, Role.WORKER


def _existing_names(resolved: Resolved) -> Mapping[str, str]:
    """Return what the file has to say of file systems that are there already."""
    names: dict[str, str] = {}
    main = resolved.lustre[0] if resolved.lustre else None
    if main and main.settings.existing and main.dns_name:
        names["fsx_dns_name"] = main.dns_name
        names["fsx_mountname"] = main.settings.existing.mount_name
    if resolved.openzfs and resolved.openzfs.dns_name:
        names["fsx_openzfs_dns_name"] = resolved.openzfs.dns_name
    return names


FILE_NAME = "provisioning_parameters.json"

TEXTS = ("login_group", "fsx_dns_name", "fsx_mountname", "fsx_openzfs_dns_name")
"""Keys that may be left out."""

Document = dict[str, Any]


def content_of_parameters(resolved: Resolved) -> bytes | None:
    """Return the file among the user's scripts, or None."""
    own = resolved.lifecycle.own_scripts
    return own.files.get(FILE_NAME) if own else None


def parameters(resolved: Resolved) -> Document | None:
    """Return the file's content where it has the right form, and a mode in which it is read."""
    content = content_of_parameters(resolved)
    if content is None or is_configured_by_api(resolved):
        return None
    try:
        document = from_json(content)
    except ValueError:
        return None
    return None if any(mistakes_of_form(document)) else document


def mistakes_of_form(document: Any) -> Iterator[str]:
    """Yield what keeps HyperPod and AWS's scripts from reading a JSON document."""
    if not isinstance(document, dict):
        yield "is no JSON object"
        return
    if document.get("workload_manager") != "slurm":
        yield 'does not say "workload_manager": "slurm"'
    for key in ("version", "controller_group"):
        if not isinstance(document.get(key), str):
            yield f"has no text under {key}"
    for key in TEXTS:
        if not isinstance(document.get(key), str | None):
            yield f"has something else than text under {key}"
    if not isinstance(document.get("slurm_configurations"), dict | None):
        yield "has something else than an object under slurm_configurations"
    workers = document.get("worker_groups")
    if not isinstance(workers, list) or not all(map(_is_worker_group, workers)):
        yield "has no list of instance_group_name and partition_name under worker_groups"


def partitions_of(document: Document) -> dict[str, str]:
    """Return the partition of each group under worker_groups, by the group's name."""
    workers: list[dict[str, str]] = document["worker_groups"]
    return {each["instance_group_name"]: each["partition_name"] for each in workers}


def _is_worker_group(value: Any) -> bool:
    keys = ("instance_group_name", "partition_name")
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in keys)
