"""Rules for several controllers, of which one works and the others stand by."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.cluster import Role
from slurmpod.environment.names import region_of_arn
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import GUIDE
from slurmpod.rules.lifecycle import is_ours
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding

MULTI_HEAD = Area("HEA", "Several controllers", reads=("slurm",))

GUIDE_TO_IT = f"{GUIDE}sagemaker-hyperpod-multihead-slurm.html"
MIGRATION = f"{GUIDE}sagemaker-hyperpod-slurm-api-config-migration.html"

SECTION = ("slurm", "multi_head")
CONTROLLERS_LIMIT = 2


@MULTI_HEAD.rule(
    "HEA-001",
    "Several controllers are set up by scripts",
    why="HyperPod's API has no form for several controllers: only provisioning_parameters.json "
    "has, and so only customer mode.",
    fix="write 'mode: customer' under lifecycle, or remove multi_head",
    source=MIGRATION,
    reads=("slurm", *LIFECYCLE_MODE),
)
def _in_customer_mode(resolved: Resolved) -> Iterator[Finding]:
    if resolved.slurm.multi_head and resolved.lifecycle.mode != "customer":
        message = f"several controllers do not go with lifecycle mode {resolved.lifecycle.mode}"
        yield Finding(SECTION, message, at_key=True)


@MULTI_HEAD.rule(
    "HEA-002",
    "Several controllers share a database",
    why="A database on one controller is gone with that controller, and with it the job records.",
    fix="write slurm.rds, or describe a database of your own in slurm.accounting_database",
    source=GUIDE_TO_IT,
)
def _share_a_database(resolved: Resolved) -> Iterator[Finding]:
    if resolved.slurm.multi_head and not resolved.database:
        yield Finding(SECTION, "several controllers have no database in common", at_key=True)


@MULTI_HEAD.rule(
    "HEA-003",
    "Several controllers share a folder",
    why="The controller that takes over continues with the state that the other has written: in a "
    "folder that both mount.",
    fix="name the mount path of a file system, or a folder below it",
    source=GUIDE_TO_IT,
    reads=("slurm", "storage"),
)
def _share_a_folder(resolved: Resolved) -> Iterator[Finding]:
    multi_head = resolved.slurm.multi_head
    if multi_head and not _holders(resolved, multi_head.shared_directory):
        folders = ", ".join(_mount_paths(resolved)) or "no file system"
        message = f"{multi_head.shared_directory} is on no shared file system; there is {folders}"
        yield Finding((*SECTION, "shared_directory"), message)


@MULTI_HEAD.rule(
    "HEA-004",
    "The state of the controllers is on a file system that keeps it",
    why="A scratch file system is not replicated. When one of its servers fails, the queue and all "
    "jobs are lost, on every controller.",
    fix="keep it on PERSISTENT_2",
    source="https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-fsx-lustre.html",
    severity=Severity.WARNING,
    reads=("slurm", "storage"),
)
def _state_is_kept(resolved: Resolved) -> Iterator[Finding]:
    multi_head = resolved.slurm.multi_head
    if not multi_head:
        return
    for lustre in resolved.lustre:
        is_scratch = not lustre.settings.existing and "SCRATCH" in lustre.settings.deployment_type
        folder = lustre.settings.mount_path
        if is_scratch and _is_in(multi_head.shared_directory, folder):
            yield Finding((*SECTION, "shared_directory"), f"{folder} is a scratch file system")


@MULTI_HEAD.rule(
    "HEA-005",
    "There are two controllers",
    why="slurmdbd, in front of the database, runs on the controllers, with at most one standby "
    "(DbdBackupHost). slurmpod's scripts set up two.",
    fix="write 2",
    source="https://slurm.schedmd.com/slurmdbd.conf.html",
    reads=("cluster", "lifecycle", "name", "slurm"),
)
def _two_controllers(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.slurm.multi_head or not is_ours(resolved):
        return
    for group in resolved.groups:
        if group.role is Role.CONTROLLER and group.count > CONTROLLERS_LIMIT:
            yield Finding((*group.path, "count"), f"{group.count} controllers cannot be set up")


@MULTI_HEAD.rule(
    "HEA-006",
    "The topic for takeovers can be reached",
    why="The controller that takes over calls Amazon SNS. In a closed network that needs an "
    "interface endpoint, which only reaches topics of the same Region.",
    fix="write 'interface_endpoints: [sns]' under network, and name a topic of the same Region",
    source="https://docs.aws.amazon.com/sns/latest/dg/sns-vpc-endpoint.html",
    reads=("monitoring", "network", "region", "services", "slurm"),
)
def _topic_in_reach(resolved: Resolved) -> Iterator[Finding]:
    multi_head = resolved.slurm.multi_head
    if not multi_head or not multi_head.sns_topic_arn or not resolved.network.closed:
        return
    is_near = region_of_arn(multi_head.sns_topic_arn) == resolved.region
    if not is_near or "sns" not in resolved.network.interface_endpoints:
        message = "the network is closed, and there is no way to this topic"
        yield Finding((*SECTION, "sns_topic_arn"), message)


def _mount_paths(resolved: Resolved) -> list[str]:
    paths = [lustre.settings.mount_path for lustre in resolved.lustre]
    return [*paths, resolved.openzfs.settings.mount_path] if resolved.openzfs else paths


def _holders(resolved: Resolved, folder: str) -> list[str]:
    return [path for path in _mount_paths(resolved) if _is_in(folder, path)]


def _is_in(folder: str, mount_path: str) -> bool:
    return f"{folder}/".startswith(f"{mount_path}/")
