"""What a node is allowed by: the session of its group's execution role, as HyperPod gives it.

HyperPod's own agents on a node use it, too: for the lifecycle scripts in S3 and for the logs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slurmpod.aws.gateway import Gateway

SESSION_NAME = "SageMaker"
"""What HyperPod calls its sessions, as `aws sts get-caller-identity` on its nodes shows."""


@dataclass(frozen=True)
class NodeRole:
    """A session: `gateway` uses it from outside the nodes, `variables` lead AWS tools on them."""

    gateway: Gateway
    variables: Mapping[str, str]


AssumeRole = Callable[[str], NodeRole]
"""Returns a session of the role with this ARN; raises ClusterFailed when it cannot be assumed."""
