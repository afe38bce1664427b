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
    "a second environment is created; this one stays until you delete it",
    source="slurmpod: its stacks are named after it, or deployed there",
)

BY_ITS_DEFAULTS = Effect(
    Kind.IN_PLACE,
    "nothing on AWS changes by itself; fields with changed defaults are listed, too",
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
    """Year of the recommendations for the defaults of `lifecycle.mode` and `cluster.provisioning`;
    default: `2024`, even if AWS recommends other settings later.
    """

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
    """Whether removals and replacements must be confirmed, and stacks refuse to be deleted."""

    tags: Annotated[dict[TagKey, TagValue], IN_PLACE, Field(max_length=40)] = Field(
        default_factory=dict
    )
    """Tags on every resource that can carry them."""

    network: Annotated[Network, IN_PLACE]
    """Where the cluster lives."""

    storage: Annotated[Storage, IN_PLACE] = Field(default_factory=Storage.model_construct)
    """Shared storage of its nodes."""

    cluster: Annotated[Cluster, IN_PLACE]
    """Its instance groups."""

    slurm: Annotated[Slurm, IN_PLACE] = Field(default_factory=Slurm.model_construct)
    """Its scheduler."""

    lifecycle: Annotated[Lifecycle, IN_PLACE] = Field(default_factory=Lifecycle.model_construct)
    """Setup of its nodes."""

    checks: Annotated[Checks | None, CONTROLLER_LATER] = None
    """Checks of idle nodes, and how often they run; default: none."""

    access: Annotated[Access, IN_PLACE] = Field(default_factory=Access.model_construct)
    """Users and access."""

    identity: Annotated[Identity, IN_PLACE] = Field(default_factory=Identity.model_construct)
    """Permissions of its nodes."""

    monitoring: Annotated[
        Monitoring | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE,
                "people are notified as before until you delete the stacks monitoring and "
                "cluster-watch",
            ),
        ),
    ] = None
    """Alarms, metrics and notifications; default: none."""

    budget: Annotated[
        Budget | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE,
                "if there is no other monitoring, the stack monitoring stays and keeps notifying",
            ),
        ),
    ] = None
    """Budget; default: none."""

    services: Annotated[Services, IN_PLACE] = Field(default_factory=Services.model_construct)
    """SageMaker services beside the cluster; default: none."""

    suppress: Annotated[tuple[Suppression, ...], NOTHING] = ()
    """Warnings that are known and accepted."""

    @model_validator(mode="after")
    def _validated_in_its_edition(self) -> Self:
        return self.in_its_edition()

    def in_its_edition(self) -> Self:
        """Return the environment with its edition's defaults, which then count as written.

        So deployment records include them.
        """
        if self.edition == FIRST:
            return self
        lifecycle, cluster = with_defaults(self.edition, self.lifecycle, self.cluster)
        return self.model_copy(update={"lifecycle": lifecycle, "cluster": cluster})
