"""An environment: one page of YAML that says everything about one cluster and its surroundings."""

from typing import Annotated

from pydantic import Field

from slurmpod.model.access import Access
from slurmpod.model.base import Section
from slurmpod.model.cluster import Cluster
from slurmpod.model.identity import Identity
from slurmpod.model.lifecycle import Lifecycle
from slurmpod.model.monitoring import Budget, Monitoring
from slurmpod.model.network import Network
from slurmpod.model.slurm import Slurm
from slurmpod.model.storage import Storage

TagKey = Annotated[str, Field(min_length=1, max_length=128)]
TagValue = Annotated[str, Field(max_length=256)]


class Suppression(Section):
    """A warning that is known and accepted, with the reason."""

    rule: Annotated[str, Field(pattern=r"^[A-Z]{3}-[0-9]{3}$", examples=["NET-001"])]
    """Id of the rule; only warnings can be accepted."""

    reason: Annotated[
        str, Field(min_length=10, max_length=500, examples=["our network team gave us this range"])
    ]
    """Why it is accepted, for whoever reads this next."""


class Environment(Section):
    """The top of an environment file, defaults filled in."""

    name: Annotated[str, Field(pattern=r"^[a-z](-*[a-z0-9])*$", max_length=63, examples=["dev"])]
    """Name of the cluster and of its stacks: lower-case letters, digits, inner hyphens."""

    account: Annotated[str, Field(pattern=r"^[0-9]{12}$", examples=["123456789012"])]
    """AWS account id: 12 digits, quoted."""

    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$", examples=["us-west-2"])]
    """AWS Region."""

    protected: bool = False
    """Ask for the environment's name before anything is changed or removed."""

    tags: Annotated[dict[TagKey, TagValue], Field(max_length=40)] = Field(default_factory=dict)
    """Tags on every resource that can carry them."""

    network: Network
    """Where the cluster lives."""

    storage: Storage = Field(default_factory=Storage.model_construct)
    """What its nodes share."""

    cluster: Cluster
    """Its instance groups."""

    slurm: Slurm = Field(default_factory=Slurm.model_construct)
    """Its scheduler."""

    lifecycle: Lifecycle = Field(default_factory=Lifecycle.model_construct)
    """How its nodes are set up."""

    access: Access = Field(default_factory=Access.model_construct)
    """Who may use it."""

    identity: Identity = Field(default_factory=Identity.model_construct)
    """What its nodes may do."""

    monitoring: Monitoring | None = None
    """What is watched, and who is told; default: nothing."""

    budget: Budget | None = None
    """What it may cost; default: no limit is watched."""

    suppress: tuple[Suppression, ...] = ()
    """Warnings that are known and accepted."""
