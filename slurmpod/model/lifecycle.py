"""The `lifecycle` section: how nodes are set up when they start."""

from typing import Annotated

from pydantic import Field

from slurmpod.model.base import Section


class Lifecycle(Section):
    """Settings of the scripts that HyperPod runs on every new node."""

    step_timeout_seconds: Annotated[int, Field(ge=10, le=3600)] = 600
    """Longest time that one step may take, retries included, before the node fails."""
