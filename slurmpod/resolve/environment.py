"""The whole environment, resolved part by part."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.environment.catalog import InstanceType, instance_types
from slurmpod.environment.cluster import Group, Role
from slurmpod.environment.environment import Environment
from slurmpod.environment.regions import partition_of
from slurmpod.problems import InvalidEnvironment, YamlPath
from slurmpod.reading.read import Reading
from slurmpod.reading.users_file import ListedUser
from slurmpod.resolve.database import ADDRESSES_IN_EACH_SUBNET, resolve_database
from slurmpod.resolve.network import resolve_network
from slurmpod.resolve.resolved import (
    KnownGroup,
    KnownUser,
    Resolved,
    ResolvedAccess,
    ResolvedGroup,
    ResolvedLifecycle,
)
from slurmpod.resolve.services import resolve_endpoint, resolve_notebook, service_addresses
from slurmpod.resolve.stacks import stack_names
from slurmpod.resolve.storage import resolve_all_lustre, resolve_openzfs


def resolve_group(path: YamlPath, group: Group, zone: str) -> ResolvedGroup:
    """Resolve the group at `path`; `zone` is its default zone."""
    types = (group.instance_type,) if group.instance_type else group.instance_types
    facts_of_types = tuple(instance_types().get(name) for name in types)
    first = facts_of_types[0] if facts_of_types else None
    default_threads = first.default_threads_per_core if first else 1
    return ResolvedGroup(
        name=group.name,
        path=path,
        role=group.role,
        settings=group,
        instance_types=types,
        facts_of_types=facts_of_types,
        count=group.count,
        partition=group.partition,
        threads_per_core=group.threads_per_core or default_threads,
        zone=group.zone or zone,
        addresses_per_node=max((_addresses(group, each) for each in facts_of_types), default=1),
    )


def _addresses(group: Group, facts: InstanceType | None) -> int:
    """Return the addresses of one node: one per network card, or one with efa-only.

    Source: SageMaker HyperPod developer guide, prerequisites (a P5 takes 32).
    """
    if facts is None or group.network_interface == "efa-only":
        return 1
    return facts.network_cards


HOMES = "home"
"""The folder of home directories below the main file system."""


def resolve_access(environment: Environment, listed: Sequence[ListedUser]) -> ResolvedAccess:
    """Combine the users of the environment and of its file."""
    access = environment.access
    users = [
        KnownUser(user, ("access", "users", number), None)
        for number, user in enumerate(access.users)
    ]
    users += [KnownUser(each.user, ("access", "users_file"), each.where) for each in listed]
    login_groups = [g.name for g in environment.cluster.groups if g.role is Role.LOGIN]
    return ResolvedAccess(
        groups=tuple(
            KnownGroup(group, ("access", "groups", number))
            for number, group in enumerate(access.groups)
        ),
        users=tuple(users),
        home_directory=access.home_directory or _home_directory(environment),
        directory=access.directory,
        sessions=access.sessions,
        session_groups=access.user_groups or tuple(login_groups),
    )


def _home_directory(environment: Environment) -> str | None:
    """Return the home folder on OpenZFS or else on the main Lustre file system, or None."""
    storage = environment.storage
    if storage.openzfs:
        return storage.openzfs.mount_path
    if storage.lustre:
        return f"{storage.lustre.mount_path}/{HOMES}"
    return None


BUCKET_NAME_LIMIT = 63
ENVIRONMENT_TAG = "slurmpod:environment"
"""The tag that identifies resources and costs of an environment."""

LIFECYCLE_FOLDER = "lifecycle"
"""The prefix of the scripts in their bucket."""

ENTRY_SCRIPTS = {"customer": "on_create.sh", "extended": "on_init_complete.sh", "managed": None}
"""The script that HyperPod starts, by lifecycle mode."""


def resolve(reading: Reading) -> Resolved:
    """Resolve an environment and the files that it names.

    Raises:
        InvalidEnvironment: It has mistakes of form.
    """
    environment = reading.environment
    if environment is None:
        raise InvalidEnvironment(reading.problems)
    network = environment.network
    groups = tuple(
        resolve_group(("cluster", "groups", index), group, network.zone)
        for index, group in enumerate(environment.cluster.groups)
    )
    lustre = resolve_all_lustre(environment.storage, environment.region, network.zone)
    openzfs = resolve_openzfs(environment.storage.openzfs, environment.region, network.zone)
    endpoint = resolve_endpoint(environment)
    resolved_network = resolve_network(
        network,
        groups,
        addresses_beside_nodes=sum(each.addresses for each in (*lustre, openzfs) if each)
        + bool(environment.services.notebook),
        database_addresses=ADDRESSES_IN_EACH_SUBNET if environment.slurm.rds else 0,
        service_addresses=service_addresses(endpoint),
        sends_metrics=_sends_metrics(environment),
        serves_models=endpoint is not None,
    )
    return Resolved(
        environment=environment,
        name=environment.name,
        account=environment.account,
        region=environment.region,
        aws_partition=partition_of(environment.region),
        protected=environment.protected,
        tags={ENVIRONMENT_TAG: environment.name, **environment.tags},
        stacks=stack_names(environment, resolved_network),
        network=resolved_network,
        lustre=lustre,
        openzfs=openzfs,
        s3_mounts=environment.storage.s3_mounts,
        database=resolve_database(environment),
        lifecycle=_resolve_lifecycle(environment, reading),
        node_recovery=environment.cluster.node_recovery,
        continuous=environment.cluster.provisioning == "continuous",
        groups=groups,
        slurm=environment.slurm,
        access=resolve_access(environment, reading.users),
        identity=environment.identity,
        policies=reading.policies,
        monitoring=environment.monitoring,
        budget=environment.budget,
        endpoint=endpoint,
        notebook=resolve_notebook(environment),
    )


def _sends_metrics(environment: Environment) -> bool:
    """Return whether nodes send metrics to Prometheus, by slurmpod's collector or HyperPod's."""
    monitoring = environment.monitoring
    if monitoring is None:
        return False
    extension = monitoring.observability
    return bool(monitoring.prometheus or (extension and extension.remote_write_url))


def bucket_name(name: str, account: str, region: str) -> str:
    """Return the lifecycle bucket's name: at most 63 characters, unique per account and Region.

    It begins with `sagemaker-`, because the managed HyperPod policy reads no other buckets.
    """
    return shortened_bucket_name(f"sagemaker-{name}-{account}-{region}")


def shortened_bucket_name(full: str) -> str:
    """Return `full`, shortened to the length of a bucket's name with a digest of the rest."""
    if len(full) <= BUCKET_NAME_LIMIT:
        return full
    import hashlib  # only needed for long names

    digest = hashlib.sha256(full.encode()).hexdigest()[:12]
    kept = full[: BUCKET_NAME_LIMIT - len(digest) - 1].rstrip("-")
    return f"{kept}-{digest}"


def _resolve_lifecycle(environment: Environment, reading: Reading) -> ResolvedLifecycle:
    lifecycle = environment.lifecycle
    return ResolvedLifecycle(
        mode=lifecycle.mode,
        bucket=bucket_name(environment.name, environment.account, environment.region),
        prefix=LIFECYCLE_FOLDER,
        entry_script=lifecycle.entry_script or ENTRY_SCRIPTS[lifecycle.mode],
        own_scripts=reading.own_scripts,
        hooks=reading.hooks,
        step_timeout_seconds=lifecycle.step_timeout_seconds,
        bucket_on_delete=lifecycle.bucket_on_delete,
    )
