"""The resources that a rehearsal's host process owns: embedded AWS, platform and machines."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from embedded_aws.interface import CloudOnlyPlatform, ClusterPlatform
from embedded_aws.isolation import isolated_environment, process_environment
from embedded_aws.moto_setup import WrongMotoVersion
from embedded_aws.server import EmbeddedAws, PortInUse
from embedded_aws.service_quotas import codes_of
from embedded_aws.shutdown import Shutdown
from slurmpod.aws.gateway import Gateway
from slurmpod.environment.catalog import instance_types
from slurmpod.platform_profiles.profile import Profile
from slurmpod.problems import InvalidEnvironment
from slurmpod.reading.read import read
from slurmpod.rehearsal.embedded_clients import embedded_clients
from slurmpod.rehearsal.existing_resources import make_existing_resources, own_database
from slurmpod.rehearsal.hyperpod.provisioning import SharedDatabase
from slurmpod.rehearsal.hyperpod.service import hyperpod
from slurmpod.rehearsal.hyperpod.software import Software
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.nodes.sandbox import GATEWAY_ADDRESS
from slurmpod.rehearsal.prometheus_addresses import FOLDER as PROMETHEUS_FOLDER
from slurmpod.rehearsal.prometheus_servers import PrometheusServers, rules_of
from slurmpod.rehearsal.state import KEEP, Journal, Request, State, read_request, write_state
from slurmpod.resolve import resolve

MOST_INSTANCES = 6758
"""HyperPod's limits for one cluster (API reference, ClusterInstanceGroupSpecification). A new
account may have quotas of 0; rehearsals assume that an increase was requested."""

MANY_FILES = 65536
"""More than the connections of many nodes need. It is not higher because programs on nodes inherit
the limit, and some of them close every descriptor up to it when they start."""


def run(folder: Path) -> None:
    """Run the rehearsal in `folder` until it is asked to end."""
    allow_many_files()
    os.umask(0o022)  # files created here are on nodes' root and shared file systems
    request = read_request(folder)
    ending = Shutdown(signal.SIGTERM, signal.SIGINT)
    with contextlib.ExitStack() as stack:
        try:
            state = _start(stack, folder, request)
        except (PortInUse, MachineFailed, WrongMotoVersion, InvalidEnvironment, OSError) as error:
            sys.exit(str(error))  # goes to the log, whose end the starting command prints
        write_state(folder, state)
        threading.Thread(target=_watch_starter, args=(folder, state, ending), daemon=True).start()
        ending.wait(request.lifetime_seconds)
    shutil.rmtree(folder, ignore_errors=True)  # the starter also does this if it still runs
    os._exit(0)  # threads of an unfinished deployment must not block the exit


def allow_many_files() -> None:
    """Raise the limit of open files as far as permitted: each connection of a node takes two."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, MANY_FILES)), hard))


def _start(stack: contextlib.ExitStack, folder: Path, request: Request) -> State:
    aws = stack.enter_context(
        EmbeddedAws(
            account=request.account,
            region=request.region,
            port=request.port,
            instance_types=instance_types(),
            node_host=GATEWAY_ADDRESS,
            quotas={("sagemaker", code): MOST_INSTANCES for code in codes_of("sagemaker")},
        )
    )
    isolated = isolated_environment(os.environ, aws.environment())
    stack.enter_context(process_environment(isolated))  # before anything reads AWS settings
    resolved = resolve(read(Path(request.environment_file)))
    platform = _platform(stack, folder, request, aws, own_database(resolved))
    aws.start(platform, _prometheus(stack, folder, request, aws))
    make_existing_resources(aws.clients(), resolved)
    return State(os.getpid(), aws.endpoint, kept=False)


def _platform(
    stack: contextlib.ExitStack,
    folder: Path,
    request: Request,
    aws: EmbeddedAws,
    database: SharedDatabase | None,
) -> ClusterPlatform:
    if request.cloud_only:
        return CloudOnlyPlatform()
    machines = stack.enter_context(
        Machines.start(folder, image=Path(request.image), file_systems={})
    )
    for allowed in request.allowed:
        host, _, port = allowed.rpartition(":")
        Journal(folder).note(allowed, f"nodes reach it at {machines.allow(host, int(port))}")
    gateway = Gateway(embedded_clients(aws.endpoint, request))
    return stack.enter_context(
        hyperpod(
            machines,
            aws,
            gateway,
            folder,
            _profile(request.profile),
            database,
            newest=_newest(request),
            keeps_failed=request.keeps_failed,
        )
    )


def _newest(request: Request) -> Software | None:
    if request.newest_profile is None:
        return None
    return Software(_profile(request.newest_profile), Path(request.newest_image))


def _profile(plain: Mapping[str, Any]) -> Profile:
    return Profile.model_validate_json(json.dumps(plain))


def _prometheus(
    stack: contextlib.ExitStack, folder: Path, request: Request, aws: EmbeddedAws
) -> PrometheusServers | None:
    """Return the servers behind Prometheus workspaces, which need the nodes' image."""
    if request.cloud_only:
        return None
    servers = PrometheusServers(
        image=Path(request.image),
        folder=folder / PROMETHEUS_FOLDER,
        rules=lambda workspace_id: rules_of(aws.clients(), workspace_id),
    )
    stack.callback(servers.close)
    return servers


def _watch_starter(folder: Path, state: State, ending: Shutdown) -> None:
    """End together with the starting command, unless it says to keep the rehearsal."""
    if sys.stdin.buffer.readline() == KEEP:
        write_state(folder, replace(state, kept=True))
        return
    ending.tell()
