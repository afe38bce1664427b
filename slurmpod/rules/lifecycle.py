"""Rules for the three lifecycle modes: required settings, and settings without effect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from slurmpod.environment.catalog import family_of
from slurmpod.environment.editions import FIRST
from slurmpod.environment.lifecycle import READ_BY_SCRIPTS
from slurmpod.problems import Severity
from slurmpod.request import is_configured_by_api
from slurmpod.resolve import Resolved
from slurmpod.rules.file_systems import EFA_CLIENTS
from slurmpod.rules.groups import API, GUIDE, known_types
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding
from slurmpod.rules.sources import ACCOUNTING

READER = re.compile(r"\.cluster-ro-[a-z0-9]+\.[a-z0-9-]+\.rds\.amazonaws\.(com|com\.cn|eu)$")
OTHER_SERVERS = {1433: "SQL Server", 1521: "Oracle", 5432: "PostgreSQL", 50000: "Db2"}
"""The usual ports of what RDS has beside MariaDB and MySQL (RDS user guide, CreateDBInstance)."""
REGION_OF_HOST = re.compile(
    r"\.(?P<region>[a-z]{2,4}(-[a-z]+)+-[0-9])\.rds\.amazonaws\.(com|com\.cn|eu)$"
)

FAMILIES_WITHOUT_LUSTRE_OVER_EFA = ("trn2", "trn2u")
"""Families whose EFA FSx does not use (FSx for Lustre user guide, "Configuring EFA clients")."""

LIFECYCLE = Area("LIF", "Lifecycle modes", reads=LIFECYCLE_MODE)

CONFIGURATION = f"{API}API_ClusterLifeCycleConfig.html"
SCRIPTS = f"{GUIDE}sagemaker-hyperpod-lifecycle-best-practices-slurm.html"
MIGRATION = f"{GUIDE}sagemaker-hyperpod-slurm-api-config-migration.html"
DATABASE = f"{GUIDE}sagemaker-hyperpod-external-accounting-db-slurm.html"
MOUNTPOINT = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/mountpoint-installation.html"

APPLIED_BY_SCRIPTS = ("partitions", "qos", "accounts", "fair_share", "settings")
"""Parts of the `slurm` section that HyperPod's API does not support."""


def is_ours(resolved: Resolved) -> bool:
    """Return whether slurmpod's own scripts run on nodes."""
    return resolved.stacks.lifecycle is not None and resolved.environment.lifecycle.scripts is None


@LIFECYCLE.rule(
    "LIF-001",
    "In managed mode there are no scripts",
    why="HyperPod then sets up nodes without scripts; a cluster whose nodes run scripts is in "
    "another mode.",
    fix="write 'mode: extended' or 'mode: customer', or remove the key",
    source=CONFIGURATION,
)
def _no_scripts_in_managed_mode(resolved: Resolved) -> Iterator[Finding]:
    if resolved.lifecycle.mode != "managed":
        return
    for key in ("scripts", "entry_script"):
        if getattr(resolved.environment.lifecycle, key) is not None:
            yield Finding(("lifecycle", key), "managed mode runs no scripts", at_key=True)


@LIFECYCLE.rule(
    "LIF-002",
    "The entry script is named for scripts of your own only",
    why="The scripts of slurmpod have one entry for each mode, with a fixed name.",
    fix="remove the key, or name the folder with your scripts in lifecycle.scripts",
    source=CONFIGURATION,
)
def _entry_script_needs_scripts(resolved: Resolved) -> Iterator[Finding]:
    lifecycle = resolved.environment.lifecycle
    if lifecycle.entry_script and not lifecycle.scripts and lifecycle.mode != "managed":
        message = f"'{lifecycle.entry_script}' is looked for in no folder"
        yield Finding(("lifecycle", "entry_script"), message)


@LIFECYCLE.rule(
    "LIF-003",
    "Every key of the lifecycle section does something",
    why="Only slurmpod's own scripts implement these keys, and the bucket is for scripts only: "
    "without them, the key has no effect.",
    fix="remove the key",
    source="slurmpod/environment/lifecycle.py",
    severity=Severity.WARNING,
)
def _keys_have_an_effect(resolved: Resolved) -> Iterator[Finding]:
    lifecycle = resolved.environment.lifecycle
    is_managed = lifecycle.mode == "managed"
    for key in READ_BY_SCRIPTS:
        if (is_managed or lifecycle.scripts) and key in lifecycle.model_fields_set:
            instead = "HyperPod sets nodes up by itself" if is_managed else "your own scripts run"
            message = f"{instead}: this has no effect"
            yield Finding(("lifecycle", key), message, at_key=True)
    if is_managed and "bucket_on_delete" in lifecycle.model_fields_set:
        message = "in managed mode there is no bucket with scripts"
        yield Finding(("lifecycle", "bucket_on_delete"), message, at_key=True)


@LIFECYCLE.rule(
    "LIF-004",
    "In managed mode there are no Slurm settings that need scripts",
    why="The API describes node types and partitions by name. Limits, QOS, accounts, priorities "
    "and other parameters are written on the controller, by scripts.",
    fix="write 'mode: extended' under lifecycle, or remove the key",
    source=MIGRATION,
    reads=("slurm", *LIFECYCLE_MODE),
)
def _managed_mode_applies_settings(resolved: Resolved) -> Iterator[Finding]:
    if resolved.lifecycle.mode != "managed":
        return
    for key in APPLIED_BY_SCRIPTS:
        if getattr(resolved.slurm, key):
            yield Finding(("slurm", key), "this is not applied in managed mode", at_key=True)


@LIFECYCLE.rule(
    "LIF-005",
    "In managed mode there is one Lustre file system at most",
    why="HyperPod mounts one FSx for Lustre file system; scripts mount the others.",
    fix="write 'mode: extended' under lifecycle, or remove all but one file system",
    source=f"{API}API_ClusterInstanceStorageConfig.html",
    reads=("storage", *LIFECYCLE_MODE),
)
def _managed_mode_mounts_one(resolved: Resolved) -> Iterator[Finding]:
    if resolved.lifecycle.mode == "managed" and len(resolved.lustre) > 1:
        names = ", ".join(lustre.name for lustre in resolved.lustre[1:])
        message = f"{names} would not be mounted in managed mode"
        yield Finding(("storage", "additional_lustre"), message, at_key=True)


@LIFECYCLE.rule(
    "LIF-006",
    "Accounting is switched off where that is possible",
    why="In extended and managed mode HyperPod sets accounting up on the controller before any "
    "script runs, whatever this key says.",
    fix="remove the key, or write 'mode: customer' under lifecycle",
    source=DATABASE,
    severity=Severity.WARNING,
    reads=("slurm", *LIFECYCLE_MODE),
)
def _accounting_is_always_on(resolved: Resolved) -> Iterator[Finding]:
    if is_configured_by_api(resolved) and not resolved.slurm.accounting:
        message = "HyperPod keeps job records regardless"
        yield Finding(("slurm", "accounting"), message, at_key=True)


@LIFECYCLE.rule(
    "LIF-007",
    "A database for job records is used",
    why="With accounting switched off nothing is written to the database.",
    fix="remove 'accounting: false', or the database",
    source=ACCOUNTING,
    reads=("slurm",),
)
def _database_is_used(resolved: Resolved) -> Iterator[Finding]:
    if resolved.database and not resolved.slurm.accounting:
        message = "there is a database for job records, but accounting is off"
        yield Finding(("slurm", "accounting"), message)


@LIFECYCLE.rule(
    "LIF-008",
    "Images of your own are new enough to be set up by HyperPod",
    why="Extended and managed mode need what HyperPod's images have since January 2026. An older "
    "one is refused: 'LifeCycleConfig is optional but requires a compatible AMI'.",
    fix="make the image from a HyperPod image of January 2026 or later, and accept this warning; "
    "for an older one write 'mode: customer' under lifecycle",
    source=MIGRATION,
    severity=Severity.WARNING,
    reads=("cluster", *LIFECYCLE_MODE),
)
def _image_is_new(resolved: Resolved) -> Iterator[Finding]:
    if not is_configured_by_api(resolved):
        return
    for group in resolved.groups:
        if group.settings.image_id:
            message = f"the age of {group.settings.image_id} is not known here"
            yield Finding((*group.path, "image_id"), message)


@LIFECYCLE.rule(
    "LIF-009",
    "Nodes have Mountpoint for Amazon S3",
    why="The step that mounts buckets needs mount-s3 on the image, or its package among those that "
    "the environment lists. Without it nodes are in service, but have no such folder.",
    fix="list mount_s3 under lifecycle.artefacts for every architecture, give every group the "
    "image_id of an image that has it, or accept this warning",
    source=MOUNTPOINT,
    severity=Severity.WARNING,
    reads=("cluster", "lifecycle", "name", "storage"),
)
def _mountpoint_is_there(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.s3_mounts or not is_ours(resolved):
        return
    has_other_images = all(group.settings.image_id for group in resolved.groups)
    if is_missing(resolved, *FOR_BUCKETS) and not has_other_images:
        message = "HyperPod's own images are not known to have mount-s3"
        yield Finding(("storage", "s3_mounts"), message, at_key=True)


@LIFECYCLE.rule(
    "LIF-010",
    "Nodes reach a file system over EFA that was made for it",
    why="HyperPod's image has what FSx's client for EFA needs since July 2026 (Lustre 2.15.6, "
    "kernel 6.8, EFA 1.47), but FSx does not support it on trn2: there the same data go over TCP, "
    "slower, and the report of the node says so.",
    fix="remove 'efa' where no other nodes need it, or accept this warning",
    source=EFA_CLIENTS,
    severity=Severity.WARNING,
    reads=("cluster", "storage"),
)
def _efa_clients(resolved: Resolved) -> Iterator[Finding]:
    named = {name for group in resolved.groups for name in group.instance_types}
    over_tcp = sorted(name for name in named if family_of(name) in FAMILIES_WITHOUT_LUSTRE_OVER_EFA)
    for lustre in resolved.lustre:
        if lustre.settings.efa and over_tcp:
            message = f"FSx has no client for EFA on {', '.join(over_tcp)}"
            yield Finding((*lustre.path, "efa"), message)


@LIFECYCLE.rule(
    "LIF-012",
    "A protected environment keeps its scripts",
    why="A node that is replaced fetches its scripts again. A cluster whose bucket was deleted by "
    "mistake cannot heal itself.",
    fix="write retain, or remove the key",
    source=SCRIPTS,
    severity=Severity.WARNING,
    reads=("lifecycle", "protected"),
)
def _protected_scripts(resolved: Resolved) -> Iterator[Finding]:
    lifecycle = resolved.environment.lifecycle
    if resolved.protected and lifecycle.bucket_on_delete == "delete":
        message = "the bucket goes with its stack, though the environment is protected"
        yield Finding(("lifecycle", "bucket_on_delete"), message)


@LIFECYCLE.rule(
    "LIF-013",
    "The database server is in the environment's Region",
    why="slurmctld waits for the records of every job. Another Region is far away, and nothing "
    "leads to its private addresses until the networks are connected.",
    fix="name a server of the environment's Region, or suppress it if the networks are connected",
    source="https://slurm.schedmd.com/accounting.html",
    severity=Severity.WARNING,
    reads=("region", "slurm"),
)
def _server_is_near(resolved: Resolved) -> Iterator[Finding]:
    database = resolved.slurm.accounting_database
    found = REGION_OF_HOST.search(database.endpoint.lower()) if database else None
    if found and found["region"] != resolved.region:
        message = f"the server is in {found['region']}, not in {resolved.region}"
        yield Finding(("slurm", "accounting_database", "endpoint"), message)


@LIFECYCLE.rule(
    "LIF-014",
    "The database server takes what slurmdbd writes",
    why="slurmdbd speaks MySQL's protocol, to MariaDB or MySQL. It cannot talk to PostgreSQL, and "
    "the reader endpoint of an Aurora cluster refuses to write.",
    fix="name the writer endpoint of a MariaDB or MySQL server, whose usual port is 3306",
    source="https://slurm.schedmd.com/accounting.html",
    reads=("slurm",),
)
def _server_takes_records(resolved: Resolved) -> Iterator[Finding]:
    database = resolved.slurm.accounting_database
    if database and READER.search(database.endpoint.lower()):
        message = "this is the endpoint of an Aurora cluster's readers"
        yield Finding(("slurm", "accounting_database", "endpoint"), message)
    if database and (server := OTHER_SERVERS.get(database.port)):
        message = f"{database.port} is the port of {server}"
        yield Finding(("slurm", "accounting_database", "port"), message)


@LIFECYCLE.rule(
    "LIF-015",
    "Customer mode is for what HyperPod's API cannot say",
    why="AWS recommends the API for new clusters and keeps provisioning_parameters.json for old "
    "ones; these have no continuous provisioning. Customer mode is needed for several controllers, "
    "scripts of your own, images from before January 2026, copies of the controller's job records, "
    "and accounting that is switched off.",
    fix="remove the key, or accept this warning with what needs it",
    source=f"{GUIDE}sagemaker-hyperpod-ref.html",
    severity=Severity.WARNING,
    reads=("cluster", "slurm", *LIFECYCLE_MODE),
)
def _customer_mode_is_needed(resolved: Resolved) -> Iterator[Finding]:
    is_new = resolved.environment.edition != FIRST
    if is_new and not is_configured_by_api(resolved) and not _needs_customer_mode(resolved):
        message = "nothing in this file needs customer mode"
        yield Finding(("lifecycle", "mode"), message)


def _needs_customer_mode(resolved: Resolved) -> bool:
    slurm = resolved.slurm
    return bool(
        slurm.multi_head
        or slurm.records_backup
        or not slurm.accounting
        or resolved.environment.lifecycle.scripts
        or any(group.settings.image_id for group in resolved.groups)
    )


FOR_CONTAINERS = ("enroot", "enroot_caps", "pyxis")
FOR_BUCKETS = ("mount_s3",)
FOR_SSH = ("pam_slurm_adopt",)


def needed(resolved: Resolved) -> Sequence[str]:
    """Return the names of packages that what the environment asks for could use."""
    for_containers = FOR_CONTAINERS if resolved.environment.lifecycle.containers else ()
    for_buckets = FOR_BUCKETS if resolved.s3_mounts else ()
    for_ssh = FOR_SSH if resolved.environment.access.ssh_needs_job else ()
    return (*for_containers, *for_buckets, *for_ssh)


def is_missing(resolved: Resolved, name: str) -> bool:
    """Return whether no package of this name is listed for some of the nodes."""
    artefacts = resolved.environment.lifecycle.artefacts
    listed = {each.architecture for each in artefacts if each.name == name}
    return not listed or bool(architectures(resolved) - listed)


def architectures(resolved: Resolved) -> set[str]:
    """Return those of the cluster's instance types, as far as the catalog knows the types."""
    return {facts.architecture for group in resolved.groups for facts in known_types(group)}
