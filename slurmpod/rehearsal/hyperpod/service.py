"""HyperPod as a service of a rehearsal: machines that reach the embedded AWS, and its platform."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from embedded_aws.cluster import ClusterFailed
from embedded_aws.isolation import is_read_by_aws_tools, variables
from embedded_aws.server import EmbeddedAws
from slurmpod.aws.gateway import Gateway
from slurmpod.platform_profiles.profile import Profile
from slurmpod.rehearsal.hyperpod import instance_metadata
from slurmpod.rehearsal.hyperpod.health_agent import HealthAgent, ResumeAction
from slurmpod.rehearsal.hyperpod.hyperpod import HyperPod
from slurmpod.rehearsal.hyperpod.instance_metadata import MetadataServer
from slurmpod.rehearsal.hyperpod.networks import Networks
from slurmpod.rehearsal.hyperpod.node_roles import NodeRoles
from slurmpod.rehearsal.hyperpod.provisioning import SharedDatabase
from slurmpod.rehearsal.hyperpod.software import Software
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.nodes.sandbox import GATEWAY_ADDRESS, Listener
from slurmpod.rehearsal.state import Journal


class AutoResumeServer:
    """The server that `srun --auto-resume=1` asks about a failed step.

    The client and the protocol are in image_files/auto_resume.c. On HyperPod the controller's
    cluster agent answers; here all clusters of a network share one server. It answers on a loopback
    port until it is closed.

    `agent_of` finds the agent of a node's cluster.
    """

    def __init__(self, agent_of: Callable[[str], HealthAgent | None]) -> None:
        self._agent_of = agent_of
        listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = listening.getsockname()[1]
        """The port on which it listens."""
        self._listener = Listener(listening, self._serve, name="auto-resume")

    def close(self) -> None:
        """Accept no more connections; open ones end when their clients do. May be repeated."""
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        # An srun that ends, by itself or with its node, just disconnects.
        with connection, contextlib.suppress(OSError, ClusterFailed, MachineFailed):
            lines = connection.makefile("r", encoding="utf-8")
            greeting = lines.readline().split()
            agent = self._agent_of(greeting[2]) if len(greeting) == 3 else None
            if agent is None:
                return
            _, job_id, host = greeting
            since = time.monotonic()
            with agent.steps.step(job_id, host, partial(_tell_lost, connection)):
                for _ in lines:
                    action = agent.diagnose(job_id, since)
                    connection.sendall(f"JobId={job_id}, ResumeAction={action}\n".encode())
                    if action is ResumeAction.RETRYSTEP:
                        is_back = agent.wait_until_back(job_id)
                        since = time.monotonic()
                        connection.sendall(b"ready\n" if is_back else b"a replacement failed\n")


def _tell_lost(connection: socket.socket, node: str) -> None:
    connection.sendall(f"lost {node}\n".encode())


@contextmanager
def hyperpod(
    machines: Machines,
    aws: EmbeddedAws,
    gateway: Gateway,
    folder: Path,
    profile: Profile,
    database: SharedDatabase | None = None,
    *,
    newest: Software | None = None,
    keeps_failed: bool = False,
) -> Iterator[HyperPod]:
    """Run the platform of the rehearsal in `folder`; its nodes reach only `aws`.

    `profile` describes HyperPod's part of nodes until a software update installs the `newest`.
    `database` is a user's server that they reach, too. Job steps are resumed while the block runs.
    See HyperPod about `keeps_failed`.

    Raises MachineFailed or OSError if the kernel refuses.
    """
    endpoint = f"http://{GATEWAY_ADDRESS}:{aws.port}"
    led = variables(endpoint=endpoint, account=aws.account, region=aws.region)
    with ExitStack() as stack:

        def connect(further: Machines) -> None:
            stack.enter_context(further)
            _connect(stack, platform, further, aws, profile)

        platform = HyperPod(
            networks=Networks(machines, folder, connect),
            gateway=gateway,
            journal=Journal(folder),
            folder=folder,
            profile=profile,
            newest=newest,
            database=database,
            keeps_failed=keeps_failed,
            assume_role=NodeRoles(aws, {n: led[n] for n in led if is_read_by_aws_tools(n)}).assume,
        )
        _connect(stack, platform, machines, aws, profile)
        yield platform


def _connect(
    stack: ExitStack, platform: HyperPod, machines: Machines, aws: EmbeddedAws, profile: Profile
) -> None:
    """Connect a network's machines to AWS, the cluster agent and metadata, until the end.

    The last two need to know the caller's network: names and addresses are not unique.
    """
    machines.open_door(aws.port)
    agent_of = partial(platform.health_agent_of, machines)
    auto_resume = stack.enter_context(closing(AutoResumeServer(agent_of)))
    machines.open_door(auto_resume.port, inside=profile.agents.cluster_agent_port)
    listening = machines.listen(instance_metadata.ADDRESS, instance_metadata.PORT)
    find = partial(platform.instance_at, machines, region=aws.region)
    needs_token = profile.image.metadata_needs_token
    stack.enter_context(closing(MetadataServer(listening, find, is_token_needed=needs_token)))
