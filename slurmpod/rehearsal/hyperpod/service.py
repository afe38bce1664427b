"""HyperPod as a service of a rehearsal: machines that reach the embedded AWS, and its platform."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from embedded_aws.isolation import is_read_by_aws_tools, variables
from embedded_aws.server import EmbeddedAws
from slurmpod.aws.gateway import Gateway
from slurmpod.rehearsal.hyperpod.auto_resume import AGENT_PORT, AutoResumeServer
from slurmpod.rehearsal.hyperpod.hyperpod import HyperPod
from slurmpod.rehearsal.hyperpod.node_roles import NodeRoles
from slurmpod.rehearsal.hyperpod.provisioning import SharedDatabase
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.state import Journal


@contextmanager
def hyperpod(
    machines: Machines,
    aws: EmbeddedAws,
    gateway: Gateway,
    folder: Path,
    database: SharedDatabase | None = None,
) -> Iterator[HyperPod]:
    """Be the platform of the rehearsal in `folder`; its nodes reach `aws` and nothing else.

    `database` is a server of the user's own that they reach, too. Steps of jobs are resumed for as
    long as the block.

    Raises MachineFailed or OSError when the kernel refuses to let them.
    """
    endpoint = f"http://{machines.open_door(aws.port)}"
    led = variables(endpoint=endpoint, account=aws.account, region=aws.region)
    platform = HyperPod(
        machines=machines,
        gateway=gateway,
        journal=Journal(folder),
        folder=folder,
        database=database,
        assume_role=NodeRoles(aws, {n: led[n] for n in led if is_read_by_aws_tools(n)}).assume,
    )
    with closing(AutoResumeServer(platform.health_agent_of)) as auto_resume:
        machines.open_door(auto_resume.port, inside=AGENT_PORT)
        yield platform
