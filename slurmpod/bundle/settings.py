"""settings.json: the settings that nodes receive, in the form that `slurmpod_lifecycle` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slurmpod.bundle.provisioning import (
    REMOTE_WRITE_URL,
    database_endpoint,
    database_secret_arn,
    lustre_address,
    openzfs_dns_name,
)
from slurmpod.bundle.slurm_settings import WholeAccount, slurm_accounts, slurm_settings
from slurmpod.environment.access import Directory, User
from slurmpod.environment.catalog import InstanceType, instance_types
from slurmpod.environment.cluster import Role
from slurmpod.environment.lifecycle import Artefact
from slurmpod.reading.hooks import ROLES, TIMES, hook_path
from slurmpod.resolve import (
    Resolved,
    ResolvedDatabase,
    ResolvedGroup,
    ResolvedLustre,
    ResolvedOpenZfs,
)
from slurmpod.resolve.database import DATABASE_NAME, records_key
from slurmpod.resolve.slurm import NORMAL
from slurmpod.resolve.storage import OPENZFS_MOUNT_NAME
from slurmpod_lifecycle import settings

FILE_NAME = "settings.json"


def settings_of(resolved: Resolved) -> settings.Settings:
    """Return the settings for all nodes of an environment, with stand-ins for unknown values.

    Raises ValueError for managed mode, in which nodes run no scripts to read them.
    """
    return settings.Settings(
        cluster_name=resolved.name,
        region=resolved.region,
        mode=settings.Mode(resolved.lifecycle.mode),
        roles={group.name: settings.Role(group.role.value) for group in resolved.groups},
        file_systems=tuple(_file_systems(resolved)),
        s3_mounts=tuple(
            settings.S3Mount(
                bucket=mount.bucket,
                prefix=mount.prefix,
                mount_path=mount.mount_path,
                read_only=mount.read_only,
                kms_key_arn=mount.kms_key_arn,
            )
            for mount in resolved.s3_mounts
        ),
        accounting=resolved.slurm.accounting,
        database=_database(resolved.database) if resolved.database else None,
        records_backup=_records_backup(resolved),
        checks=_checks(resolved),
        multi_head=_multi_head(resolved),
        metrics=_metrics(resolved),
        slurm=slurm_settings(resolved),
        access=access_settings(resolved),
        node=_node_options(resolved),
        step_timeout_seconds=resolved.lifecycle.step_timeout_seconds,
    )


def artefact_key(artefact: Artefact, resolved: Resolved) -> str:
    """Return the key of a mirrored artefact in the lifecycle bucket.

    It is below the prefix that nodes may read, and beside the bundles, which no deployment prunes.
    """
    file_name = artefact.url.rpartition("/")[2]
    return f"{resolved.lifecycle.prefix}/artefacts/{artefact.sha256}/{file_name}"


def _file_systems(resolved: Resolved) -> Iterator[settings.FileSystem]:
    """Yield the FSx file systems, in the order of the environment.

    With an API-driven configuration HyperPod mounts the first Lustre file system and OpenZFS.
    """
    is_api_driven = resolved.lifecycle.mode != "customer"
    for lustre in resolved.lustre:
        is_first = lustre is resolved.lustre[0]
        yield _lustre(lustre, mounted_by_hyperpod=is_api_driven and is_first)
    if resolved.openzfs:
        yield _openzfs(resolved.openzfs, mounted_by_hyperpod=is_api_driven)


def _lustre(lustre: ResolvedLustre, *, mounted_by_hyperpod: bool) -> settings.FileSystem:
    dns_name, mount_name = lustre_address(lustre)
    return settings.FileSystem(
        kind=settings.Kind.LUSTRE,
        dns_name=dns_name,
        mount_name=mount_name,
        mount_path=lustre.settings.mount_path,
        mounted_by_hyperpod=mounted_by_hyperpod,
        is_new=not lustre.settings.existing,
        root_squash=bool(lustre.settings.root_squash),
        efa=lustre.settings.efa,
    )


def _openzfs(openzfs: ResolvedOpenZfs, *, mounted_by_hyperpod: bool) -> settings.FileSystem:
    return settings.FileSystem(
        kind=settings.Kind.OPENZFS,
        dns_name=openzfs_dns_name(openzfs),
        mount_name=OPENZFS_MOUNT_NAME,
        mount_path=openzfs.settings.mount_path,
        mounted_by_hyperpod=mounted_by_hyperpod,
        is_new=not openzfs.settings.existing,
        root_squash=False,
        efa=False,
    )


def _database(database: ResolvedDatabase) -> settings.Database:
    return settings.Database(
        endpoint=database_endpoint(database),
        port=database.port,
        name=database.name or DATABASE_NAME,
        secret_arn=database_secret_arn(database),
        default_user=database.user,
        requires_tls=database.requires_tls,
    )


def _records_backup(resolved: Resolved) -> settings.RecordsBackup | None:
    backup, key = resolved.slurm.records_backup, records_key(resolved)
    if backup is None or key is None:
        return None
    uri = f"s3://{resolved.lifecycle.bucket}/{key}"
    return settings.RecordsBackup(uri, backup.interval_minutes)


def _checks(resolved: Resolved) -> settings.Checks | None:
    checks = resolved.environment.checks
    if checks is None:
        return None
    workers = [each.name for each in resolved.groups_with(Role.WORKER)]
    groups = tuple(name for name in workers if name in (checks.groups or workers))
    steady = [each for each in resolved.groups if each.name in groups and _has_steady_network(each)]
    return settings.Checks(
        every_hours=checks.every_hours,
        kinds=checks.kinds,
        groups=groups,
        pair_groups=tuple(each.name for each in steady),
        all_reduce_bounds={
            each.name: bound for each in steady if (bound := _all_reduce_bound(each))
        },
        ring_bounds={each.name: rate for each in steady if (rate := _ring_bound(each))},
        least_percent=checks.least_percent,
        dcgm_level=checks.dcgm_level,
        replace_after=checks.replace_after,
    )


def _has_steady_network(group: ResolvedGroup) -> bool:
    """Return whether EC2 guarantees the bandwidth, and not just a peak of some minutes."""
    known = instance_types()
    facts = [known.get(name) for name in group.instance_types]
    return all(each is not None and each.network_gigabits > 0 for each in facts)


def _all_reduce_bound(group: ResolvedGroup) -> float:
    """Return the upper bound in GB/s of an all-reduce between GPUs of two nodes; 0 without EFA.

    Half of a message has to enter each of two nodes, while nccl-tests counts (n-1)/n of it for n
    processes (its doc/PERFORMANCE.md); the slowest type of a group counts.
    """
    bounds = (
        each.network_gigabits / 8 * 2 * (1 - 1 / (2 * each.accelerator_count))
        for each in _types_with_gpus_and_efa(group)
    )
    return round(min(bounds, default=0.0), 1)


def _ring_bound(group: ResolvedGroup) -> float:
    """Return the upper bound in GB/s of a ring of nodes, where all data passes each; 0 without EFA.

    The source is EC2's network of a type, as the catalog has it; see `_all_reduce_bound`.
    """
    bounds = (each.network_gigabits / 8 for each in _types_with_gpus_and_efa(group))
    return round(min(bounds, default=0.0), 1)


def _types_with_gpus_and_efa(group: ResolvedGroup) -> list[InstanceType]:
    """Return the types of a group, or none unless all have GPUs and EFA."""
    known = instance_types()
    facts = [known[name] for name in group.instance_types]
    is_fit = all(each.accelerator_kind == "gpu" and each.efa_interfaces for each in facts)
    return facts if is_fit else []


def _multi_head(resolved: Resolved) -> settings.MultiHead | None:
    multi_head = resolved.slurm.multi_head
    if multi_head is None:
        return None
    return settings.MultiHead(
        controllers=sum(group.count for group in resolved.groups_with(Role.CONTROLLER)),
        shared_directory=multi_head.shared_directory,
        sns_topic_arn=multi_head.sns_topic_arn,
    )


def _metrics(resolved: Resolved) -> settings.Metrics | None:
    prometheus = resolved.monitoring.prometheus if resolved.monitoring else None
    if prometheus is None:
        return None
    return settings.Metrics(
        remote_write_url=REMOTE_WRITE_URL,
        scrape_seconds=prometheus.scrape_seconds,
        may_install=not resolved.network.closed,
    )


def _node_options(resolved: Resolved) -> settings.NodeOptions:
    lifecycle, access = resolved.environment.lifecycle, resolved.environment.access
    scratch = resolved.environment.storage.scratch
    return settings.NodeOptions(
        instance_types={group.name: group.instance_types for group in resolved.groups},
        hardware=_hardware(resolved),
        scratch_path=scratch.mount_path if scratch else None,
        health_checks=lifecycle.health_checks,
        containers=lifecycle.containers,
        rotate_logs=lifecycle.rotate_logs,
        motd=lifecycle.motd,
        ssh_between_nodes=access.ssh_between_nodes,
        ssh_needs_job=access.ssh_needs_job,
        has_way_out=not resolved.network.closed,
        artefacts=tuple(_artefact(each, resolved) for each in lifecycle.artefacts),
        hooks=_hooks(resolved),
    )


def _hardware(resolved: Resolved) -> dict[str, settings.Hardware]:
    """Return the facts of all types that the catalog knows, sorted by type."""
    named = sorted({name for group in resolved.groups for name in group.instance_types})
    known = instance_types()
    return {
        name: settings.Hardware(
            architecture=known[name].architecture,
            accelerator_kind=known[name].accelerator_kind,
            accelerators=known[name].accelerator_count,
            efa_interfaces=known[name].efa_interfaces,
            nvme_gb=known[name].local_nvme_gb,
        )
        for name in named
        if name in known
    }


def _artefact(artefact: Artefact, resolved: Resolved) -> settings.Artefact:
    return settings.Artefact(
        name=artefact.name,
        architecture=artefact.architecture,
        url=artefact.url,
        sha256=artefact.sha256,
        mirror=f"s3://{resolved.lifecycle.bucket}/{artefact_key(artefact, resolved)}",
    )


def _hooks(resolved: Resolved) -> Mapping[str, Mapping[str, str]]:
    """Return the paths in the bundle by role, then by when they run."""
    found: dict[str, dict[str, str]] = {}
    for role in ROLES:
        for when in TIMES:
            if hook_path(role, when) in resolved.lifecycle.hooks:
                found.setdefault(role, {})[when] = hook_path(role, when)
    return found


LOCAL_HOMES = "/home"
"""Home directories if nodes share no file system."""


def access_settings(resolved: Resolved) -> settings.Access:
    """Return the users for nodes, and the directory with further ones."""
    access = resolved.access
    users = [known.user for known in access.users]
    groups = [(known.group.name, known.group.gid) for known in access.groups]
    groups += [(user.name, user.uid) for user in users if user.group is None]
    accounts = slurm_accounts(resolved)
    homes = access.home_directory or LOCAL_HOMES
    return settings.Access(
        groups=tuple(settings.Group(name, gid) for name, gid in sorted(groups)),
        users=tuple(_user(each, homes, accounts) for each in sorted(users, key=lambda u: u.name)),
        home_directory=homes,
        homes_shared=access.home_directory is not None,
        directory=_directory(access.directory, resolved) if access.directory else None,
    )


def _user(user: User, homes: str, accounts: Sequence[WholeAccount]) -> settings.User:
    mine = [each for each in accounts if not user.accounts or each.name in user.accounts]
    default = user.default_account or next(iter(user.accounts), None)
    mine.sort(key=lambda account: account.name != default)
    group = user.group or user.name
    return settings.User(
        name=user.name,
        uid=user.uid,
        full_name=user.full_name,
        group=group,
        groups=tuple(sorted({*user.groups} - {group})),
        home=f"{homes}/{user.name}",
        ssh_keys=tuple(" ".join(key.split()) for key in user.ssh_keys),
        admin=user.admin,
        associations=tuple(_association(user, account) for account in mine),
    )


def _association(user: User, account: WholeAccount) -> settings.Association:
    """Format a user, with the values inherited from the account, as Slurm shows it."""
    qos, default = user.qos or account.qos, account.default_qos
    if default not in qos:
        default = NORMAL if NORMAL in qos else qos[0]
    options = {"Fairshare": str(user.shares), "QOS": sorted(qos), "DefaultQOS": default}
    return settings.Association(account.name, options)


def _directory(directory: Directory, resolved: Resolved) -> settings.Directory:
    return settings.Directory(
        uris=directory.uris,
        base_dn=directory.base_dn,
        kind=directory.kind,
        bind_dn=directory.bind_dn,
        bind_secret_arn=directory.bind_secret_arn,
        ca_certificate=directory.ca_certificate,
        allowed_groups=directory.allowed_groups,
        installable=not resolved.network.closed,
    )
