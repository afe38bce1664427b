"""The network stack: the VPC of an environment and the security group of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stacks.parts.cluster_vpc import ClusterVpc
from stacks.parts.environment_stack import EnvironmentStack
from stacks.parts.node_security_group import NodeSecurityGroup

if TYPE_CHECKING:
    from constructs import Construct

    from slurmpod.resolve import Resolved


class NetworkStack(EnvironmentStack):
    """Where nodes and file system live. Subnets cannot be changed under a running cluster."""

    def __init__(self, scope: Construct, *, resolved: Resolved) -> None:
        super().__init__(
            scope,
            resolved.stacks.network,
            resolved=resolved,
            description=f"VPC and security group of the HyperPod cluster {resolved.name}",
        )
        vpc = ClusterVpc(self, "Network", network=resolved.network)
        nodes = NodeSecurityGroup(self, "Nodes", vpc_id=vpc.vpc_id)
        self.private_subnet_id = vpc.private_subnet_id
        self.security_group_id = nodes.security_group_id
