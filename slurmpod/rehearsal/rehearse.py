"""A whole rehearsal: embedded AWS, real deployment, real cluster, first job and teardown."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from embedded_aws.clients import Clients
from embedded_aws.isolation import isolated_environment, process_environment
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.stack import Stack
from slurmpod.bundle import render_bundle
from slurmpod.environment.cluster import Role
from slurmpod.operations.deploy.cdk import Cdk, CdkFailed
from slurmpod.operations.deployed import LiveEnvironment
from slurmpod.operations.progress import Progress
from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.profile import Profile
from slurmpod.rehearsal.bootstrap import bootstrap
from slurmpod.rehearsal.drills.drill import DrilledJob, DrillReport, drill
from slurmpod.rehearsal.embedded_clients import embedded_clients
from slurmpod.rehearsal.failed_scripts import FailedScripts, failed_scripts
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, FaultReport, run_fault
from slurmpod.rehearsal.faults.registry import fault_cluster
from slurmpod.rehearsal.faults.watch import FaultFailed
from slurmpod.rehearsal.first_job import FirstJob, run_first_job
from slurmpod.rehearsal.hyperpod.capacity import Shortage
from slurmpod.rehearsal.journal_entries import CREATION_STARTS, IN_SERVICE
from slurmpod.rehearsal.nodes.additions import NOTHING, named_additions
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import network_of
from slurmpod.rehearsal.nodes.preparation import baked_image
from slurmpod.rehearsal.processes import Host, Rehearsal, RehearsalFailed, clear_dead, keep_logs
from slurmpod.rehearsal.script_needs import needs_of_scripts
from slurmpod.rehearsal.shell import CommandFailed, Shell
from slurmpod.rehearsal.state import JournalReader, Request, note_fault
from slurmpod.rehearsal.unsupported import rehearsed_file
from slurmpod.resolve import Resolved

KEPT_LIFETIME_SECONDS = 24 * 3600
"""After this time, a day, a rehearsal that was kept ends by itself."""

LIFETIME_SECONDS = 2 * 3600

Look = Callable[[Rehearsal, str], None]
"""Inspects a rehearsal before it is taken down; the text says why it failed, or is empty."""


@dataclass(frozen=True)
class Options:
    """The user's choices: with or without nodes, the port, whether to keep it running, and faults.

    Faults strike `job` instead of their own jobs; without faults, it runs once.
    `profile` is HyperPod's part of the nodes until `slurmpod patch` installs `newest`.
    `image` is the name of a user's image; `allowed` are the HOST:PORT addresses that nodes may
    connect to.
    """

    cloud_only: bool = False
    image: str | None = None
    allowed: tuple[str, ...] = ()
    keep: bool = False
    port: int | None = None
    faults: tuple[Fault, ...] = ()
    job: DrilledJob | None = None
    profile: Profile = field(default_factory=lambda: load().profile)
    newest: Profile | None = None


@dataclass(frozen=True)
class RehearsedFor:
    """What the scripts ran on: HyperPod's image as described by the profile, and the node image.

    `bundle` is the folder of the scripts in the lifecycle bucket.
    """

    bundle: str
    profile: str
    image: str | None


@dataclass(frozen=True)
class Outcome:
    """The results of a rehearsal; without machines or without workers, there is no first job.

    `entrance` is the host name of the node that users log in to.
    `boot_seconds` is the time from the cluster's creation until all its nodes were in service.
    `rehearsed_for` is what the scripts ran on.
    """

    endpoint: str
    stacks: tuple[Stack, ...]
    nodes: tuple[Node, ...]
    entrance: str
    first_job: FirstJob | None
    faults: tuple[FaultReport, ...]
    boot_seconds: float | None
    kept: Rehearsal | None
    rehearsed_for: RehearsedFor | None = None
    drills: tuple[DrillReport, ...] = ()


def rehearse(
    environment_file: Path,
    resolved: Resolved,
    options: Options,
    progress: Progress,
    look: Look | None = None,
) -> Outcome:
    """Deploy an environment into an embedded AWS, use it, and take it down unless it is kept.

    `look` is called at the end, even after a failure, while everything still runs.

    Raises RehearsalFailed or BakeFailed with what the user needs to know. However it ends,
    nothing keeps running unless the user asked for it.
    """
    for name in clear_dead():
        progress.note(f"removed the remains of the dead rehearsal {name}")
    request = _request(environment_file, resolved, options, _images(resolved, options, progress))
    looked = partial(_look, look, progress)
    with _running_host(request, resolved, looked) as host:
        outcome = _run(host, environment_file, resolved, options, progress)
        looked(host, "")
        if options.keep:
            host.keep()
        else:
            with progress.stage("taken down"):
                host.end()
    return outcome


def _images(resolved: Resolved, options: Options, progress: Progress) -> tuple[str, str]:
    """Return the image and the newest one, if any; report first what scripts lack there."""
    if options.cloud_only:
        return "", ""
    additions = named_additions(options.image) if options.image else NOTHING
    image = baked_image(progress, additions, options.profile.image.slurm)
    if needs := needs_of_scripts(resolved, image):
        progress.note(needs)
    newest = options.newest and baked_image(progress, additions, options.newest.image.slurm)
    return str(image), str(newest or "")


def _request(
    environment_file: Path, resolved: Resolved, options: Options, images: tuple[str, str]
) -> Request:
    image, newest_image = images
    return Request(
        name=resolved.name,
        environment_file=str(environment_file.absolute()),
        account=resolved.account,
        region=resolved.region,
        cloud_only=options.cloud_only,
        image=image,
        port=options.port,
        lifetime_seconds=KEPT_LIFETIME_SECONDS if options.keep else LIFETIME_SECONDS,
        keeps_failed=options.keep,
        profile=options.profile.model_dump(mode="json"),
        newest_profile=options.newest.model_dump(mode="json") if options.newest else None,
        newest_image=newest_image,
        allowed=options.allowed,
    )


@contextlib.contextmanager
def _running_host(
    request: Request, resolved: Resolved, looked: Callable[[Host, str], None]
) -> Iterator[Host]:
    """Start a host process; a failure or Ctrl-C ends it, unless failed rehearsals are kept.

    A failure's logs are kept, and `look` inspects it before the end.
    """
    host = Host.start(request)
    try:
        yield host
    except (CdkFailed, CommandFailed, FaultFailed, MachineFailed, RehearsalFailed) as failure:
        failed = _with_all_that_is_known(failure, host, request, resolved)
        looked(host, str(failed))
        raise failed from failure
    finally:
        if not host.is_kept:
            host.end()


def _look(look: Look | None, progress: Progress, host: Host, failure: str) -> None:
    """Let `look` inspect a rehearsal at its end, if it still runs."""
    rehearsal = host.rehearsal() if look else None
    if look and rehearsal:
        with progress.stage("report written"):
            look(rehearsal, failure)


def _with_all_that_is_known(
    failure: Exception, host: Host, request: Request, resolved: Resolved
) -> RehearsalFailed:
    """Return the failure with the failed scripts, if any, and the location of all logs."""
    bundle = render_bundle(resolved)
    scripts = failed_scripts(host.folder, bundle.files if bundle else {})
    parts = [str(failure), *_logs(host.folder, scripts)]
    kept = host.rehearsal() if request.keeps_failed else None
    if kept:
        host.keep()
    return RehearsalFailed("\n".join(parts), kept, scripts.hostname if scripts else "")


def _logs(folder: Path, scripts: FailedScripts | None) -> list[str]:
    """Keep all logs; return what the failed scripts printed and where the logs are."""
    try:
        logs = keep_logs(folder)
    except OSError as error:  # for example, a full disk: it must not hide the first failure
        found = [scripts.description(folder)] if scripts else []
        return [*found, f"its logs could not be kept: {error.strerror}"]
    return [*([scripts.description(logs)] if scripts else []), f"all logs: {logs}"]


def _run(
    host: Host, environment_file: Path, resolved: Resolved, options: Options, progress: Progress
) -> Outcome:
    with progress.stage("embedded AWS started"):
        rehearsal = host.wait_until_ready()
    environment = isolated_environment(os.environ, rehearsal.variables)
    with process_environment(environment):  # our own calls must not reach a real account either
        clients = embedded_clients(rehearsal.state.endpoint, rehearsal.request)
        live = LiveEnvironment(clients, resolved)
        cdk = Cdk(host.folder / "cdk.out", host.folder, environment)
        if not options.cloud_only:
            software = options.profile.image.software
            environment_file = rehearsed_file(
                environment_file, resolved, software, host.folder, progress
            )
        try:
            _deploy(host, cdk, environment_file, clients, progress)
        except (AwsUnavailable, CdkFailed) as error:
            host.require_running()
            raise RehearsalFailed(_failure(live) or str(error)) from error
        return _use(rehearsal, live, options, progress)


def _deploy(
    host: Host, cdk: Cdk, environment_file: Path, clients: AwsClients, progress: Progress
) -> None:
    journal = JournalReader(host.folder)

    def watch() -> None:
        host.require_running()
        for event in journal.new_events():
            progress.now(f"{event.subject}: {event.what}")

    with contextlib.ExitStack() as until_the_end:
        with progress.stage("account bootstrapped, templates synthesized"):
            bootstrap(clients.cloudformation)  # first: kept templates are deployed immediately
            run = until_the_end.enter_context(cdk.deploy(environment_file))
            run.wait(watch, until=cdk.is_synthesized)
        if run.note:
            progress.note(f"  {run.note}")
        with progress.stage("stacks deployed"):
            run.wait(watch)


def _failure(live: LiveEnvironment) -> str:
    """Return why stacks failed; empty if none did and only the CDK reported an error."""
    return "\n".join(f"{each.name}: {each.failure}" for each in live.stacks() if each.failure)


def _use(
    rehearsal: Rehearsal,
    live: LiveEnvironment,
    options: Options,
    progress: Progress,
) -> Outcome:
    resolved, view = live.resolved, ClusterView(live.clients)
    nodes = view.nodes(resolved.name)
    entrance = entrance_of(nodes, resolved)
    first_job = None
    if not options.cloud_only:
        with progress.stage("first job run"):
            first_job = run_first_job(Shell(_network(rehearsal, resolved), entrance), resolved)
    faults, drills = _suffer(rehearsal, resolved, options, nodes, progress)
    return Outcome(
        endpoint=rehearsal.state.endpoint,
        stacks=live.stacks(),
        nodes=view.nodes(resolved.name),
        entrance=entrance,
        first_job=first_job,
        faults=faults,
        drills=drills,
        boot_seconds=_boot_seconds(rehearsal.folder),
        kept=rehearsal if options.keep else None,
        rehearsed_for=None if options.cloud_only else _rehearsed_for(resolved, options),
    )


def _rehearsed_for(resolved: Resolved, options: Options) -> RehearsedFor | None:
    bundle = render_bundle(resolved)
    about = options.profile.about
    return RehearsedFor(bundle.prefix, about, options.image) if bundle else None


def _suffer(
    rehearsal: Rehearsal,
    resolved: Resolved,
    options: Options,
    nodes: tuple[Node, ...],
    progress: Progress,
) -> tuple[tuple[FaultReport, ...], tuple[DrillReport, ...]]:
    """Inject the faults: into their own jobs, or into the user's, which may also run without."""
    if not options.faults and not options.job:
        return (), ()
    cluster = fault_cluster_of(rehearsal, resolved, nodes)
    if options.job:
        with progress.stage(f"drilled {options.job.folder.script}"):
            return (), drill(cluster, options.job, options.faults, progress)
    reports = []
    for fault in options.faults:
        with progress.stage(f"survived the fault {fault.name}"):
            reports.append(run_fault(fault, cluster, progress))
        note_fault(rehearsal.folder, reports[-1].as_data())
    return tuple(reports), ()


def fault_cluster_of(
    rehearsal: Rehearsal, resolved: Resolved, nodes: tuple[Node, ...]
) -> FaultCluster:
    """Return a running rehearsal's cluster with the interface that faults use."""
    request, endpoint = rehearsal.request, rehearsal.state.endpoint
    aws = Clients(endpoint=endpoint, account=request.account, region=request.region)
    entrance = entrance_of(nodes, resolved)
    shortage = Shortage(rehearsal.folder)
    return fault_cluster(_network(rehearsal, resolved), aws, resolved, nodes, entrance, shortage)


def _network(rehearsal: Rehearsal, resolved: Resolved) -> Path:
    """Return the folder through which an environment's nodes are entered."""
    return network_of(rehearsal.folder, resolved.name)


def entrance_of(nodes: tuple[Node, ...], resolved: Resolved) -> str:
    """Return the host name of the node that users log in to: a login node or the controller."""
    for role in (Role.LOGIN, Role.CONTROLLER):
        groups = {group.name for group in resolved.groups_with(role)}
        for node in nodes:
            if node.group in groups:
                return node.name
    raise RehearsalFailed("the cluster has neither a login node nor a controller")


def _boot_seconds(folder: Path) -> float | None:
    at = {event.what: event.at_seconds for event in JournalReader(folder).new_events()}
    if CREATION_STARTS in at and IN_SERVICE in at:
        return round(at[IN_SERVICE] - at[CREATION_STARTS], 2)
    return None
