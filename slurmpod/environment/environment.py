"""An environment: one page of YAML that says everything about one cluster and its surroundings."""

from dataclasses import replace
from typing import Annotated, Self

from pydantic import Field, model_validator

from slurmpod.environment.access import Access
from slurmpod.environment.base import CONTROLLER_LATER, IN_PLACE, NOTHING, Effect, Kind, Section
from slurmpod.environment.checks import Checks
from slurmpod.environment.cluster import Cluster
from slurmpod.environment.editions import FIRST, Edition, with_defaults
from slurmpod.environment.identity import Identity
from slurmpod.environment.lifecycle import Lifecycle
from slurmpod.environment.monitoring import Budget, Monitoring
from slurmpod.environment.network import Network
from slurmpod.environment.services import Services
from slurmpod.environment.slurm import Slurm
from slurmpod.environment.storage import Storage

TagKey = Annotated[str, Field(min_length=1, max_length=128)]
TagValue = Annotated[str, Field(max_length=256)]

NEW_ENVIRONMENT = Effect(
    Kind.REPLACES,
    "a second environment is made beside this one, which stays until it is deleted",
    source="slurmpod: its stacks are named by it, or lie there",
)

BY_ITS_DEFAULTS = Effect(
    Kind.IN_PLACE,
    "nothing on AWS changes by itself; fields whose defaults become other ones are listed, too",
)


class Suppression(Section):
    """A warning that is known and accepted, with the reason."""

    rule: Annotated[str, NOTHING, Field(pattern=r"^[A-Z]{3}-[0-9]{3}$", examples=["NET-001"])]
    """Id of the rule; only warnings can be accepted."""

    reason: Annotated[
        str,
        NOTHING,
        Field(min_length=10, max_length=500, examples=["our network team gave us this range"]),
    ]
    """Why it is accepted, for the next reader."""


class Environment(Section):
    """The top of an environment file, defaults filled in."""

    edition: Annotated[Edition, BY_ITS_DEFAULTS] = FIRST
    """Year whose recommendations the defaults follow: of `lifecycle.mode` and
    `cluster.provisioning`; default: `2024`, whatever is recommended later."""

    name: Annotated[
        str,
        NEW_ENVIRONMENT,
        Field(pattern=r"^[a-z](-*[a-z0-9])*$", max_length=63, examples=["dev"]),
    ]
    """Name of the cluster and of its stacks: lower-case letters, digits, inner hyphens."""

    account: Annotated[
        str, NEW_ENVIRONMENT, Field(pattern=r"^[0-9]{12}$", examples=["123456789012"])
    ]
    """AWS account id: 12 digits, quoted."""

    region: Annotated[
        str, NEW_ENVIRONMENT, Field(pattern=r"^[a-z]{2,4}(-[a-z]+)+-[0-9]$", examples=["us-west-2"])
    ]
    """AWS Region."""

    protected: Annotated[bool, IN_PLACE] = False
    """Whether what removes or replaces something has to be confirmed, and stacks refuse to be
    deleted."""

    tags: Annotated[dict[TagKey, TagValue], IN_PLACE, Field(max_length=40)] = Field(
        default_factory=dict
    )
    """Tags on every resource that can carry them."""

    network: Annotated[Network, IN_PLACE]
    """Where the cluster lives."""

    storage: Annotated[Storage, IN_PLACE] = Field(default_factory=Storage.model_construct)
    """What its nodes share."""

    cluster: Annotated[Cluster, IN_PLACE]
    """Its instance groups."""

    slurm: Annotated[Slurm, IN_PLACE] = Field(default_factory=Slurm.model_construct)
    """Its scheduler."""

    lifecycle: Annotated[Lifecycle, IN_PLACE] = Field(default_factory=Lifecycle.model_construct)
    """How its nodes are set up."""

    checks: Annotated[Checks | None, CONTROLLER_LATER] = None
    """What is checked of idle nodes, and how often; default: nothing."""

    access: Annotated[Access, IN_PLACE] = Field(default_factory=Access.model_construct)
    """Who may use it."""

    identity: Annotated[Identity, IN_PLACE] = Field(default_factory=Identity.model_construct)
    """What its nodes may do."""

    monitoring: Annotated[
        Monitoring | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE,
                "people are told as before until you delete the stacks monitoring and "
                "cluster-watch",
            ),
        ),
    ] = None
    """What is watched, and who is told; default: nothing."""

    budget: Annotated[
        Budget | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE,
                "where nothing else is watched, the stack monitoring stays, and tells",
            ),
        ),
    ] = None
    """What it may cost; default: no limit is watched."""

    services: Annotated[Services, IN_PLACE] = Field(default_factory=Services.model_construct)
    """What SageMaker runs beside it; default: nothing."""

    suppress: Annotated[tuple[Suppression, ...], NOTHING] = ()
    """Warnings that are known and accepted."""

    @model_validator(mode="after")
    def _validated_in_its_edition(self) -> Self:
        return self.in_its_edition()

    def in_its_edition(self) -> Self:
        """Return the environment with the defaults of its edition, which then count as written.

        So the record of a deployment says them, too.
        """
        if self.edition == FIRST:
            return self
        lifecycle, cluster = with_defaults(self.edition, self.lifecycle, self.cluster)
        return self.model_copy(update={"lifecycle": lifecycle, "cluster": cluster})
