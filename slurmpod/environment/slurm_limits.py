"""Limits: partitions, qualities of service, accounts, fair share."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from slurmpod.environment.base import CONTROLLER_LATER, Section

AccountingName = Annotated[
    str, Field(pattern=r"^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$", max_length=40, examples=["research"])
]
"""Name of an account or QOS; lower case, as sacctmgr stores it."""

TimeLimit = Annotated[
    str,
    Field(
        pattern=r"^(UNLIMITED|([0-9]+-)?[0-9]{1,3}:[0-5][0-9]:[0-5][0-9])$",
        examples=["1-00:00:00"],
    ),
]
"""A duration as [days-]hours:minutes:seconds, or UNLIMITED."""

Resources = dict[
    Annotated[str, Field(pattern=r"^(cpu|mem|node|gres/[a-z0-9_]+)$", examples=["gres/gpu"])],
    Annotated[int, Field(ge=0)],
]
"""Amounts by kind: cpu, mem (MiB), node, gres/gpu ..."""


def number_as_text(value: Any) -> Any:
    """Take 300 as "300": slurm.conf has text only."""
    return str(value) if type(value) is int else value


Weights = dict[
    Annotated[str, Field(pattern=r"^(cpu|mem|node|gres/[a-z0-9_]+)$", examples=["gres/gpu"])],
    Annotated[
        str,
        BeforeValidator(number_as_text, json_schema_input_type=str | int),
        Field(pattern=r"^([0-9]{1,9}|[0-9]{0,9}\.[0-9]{1,9})[KMGT]?$", examples=["0.25G"]),
    ],
]
"""Weights by kind of resource: of one CPU, one MiB of memory (0.25G: of 1 GiB), one GPU ..."""


class Partition(Section):
    """Limits of one partition."""

    name: Annotated[
        str,
        CONTROLLER_LATER,
        Field(pattern=r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$", max_length=63, examples=["p5"]),
    ]
    """The partition, as a group names it, or dev, which has all nodes."""

    default: Annotated[bool, CONTROLLER_LATER] = False
    """Whether it is the default partition."""

    max_time: Annotated[TimeLimit | None, CONTROLLER_LATER] = None
    """Longest time of a job; default: UNLIMITED."""

    default_time: Annotated[TimeLimit | None, CONTROLLER_LATER] = None
    """Time of a job that asks for none; default: the longest."""

    max_nodes: Annotated[int | None, CONTROLLER_LATER, Field(ge=1)] = None
    """Most nodes of a job; default: all."""

    priority_tier: Annotated[int | None, CONTROLLER_LATER, Field(ge=0, le=65533)] = None
    """Jobs of a partition with a higher tier are scheduled first."""

    qos: Annotated[AccountingName | None, CONTROLLER_LATER] = None
    """QOS whose limits hold for the whole partition."""

    allowed_accounts: Annotated[tuple[AccountingName, ...], CONTROLLER_LATER] = ()
    """Accounts that may use the partition; default: all."""

    allowed_qos: Annotated[tuple[AccountingName, ...], CONTROLLER_LATER] = ()
    """QOS that may be used in the partition; default: all."""

    billing_weights: Annotated[Weights, CONTROLLER_LATER] = Field(default_factory=dict)
    """Weights of a job's resources in its account's usage; default: 1 for each CPU, and with fair
    share also, for each GPU, the number of CPUs that come with it.
    """


class Qos(Section):
    """One quality of service."""

    name: Annotated[AccountingName, CONTROLLER_LATER]
    """Its name, for --qos."""

    priority: Annotated[int, CONTROLLER_LATER, Field(ge=0, le=4_294_967_293)] = 0
    """Priority of its jobs; higher ones are scheduled first."""

    max_time: Annotated[TimeLimit | None, CONTROLLER_LATER] = None
    """Longest time of a job."""

    max_jobs_per_user: Annotated[int | None, CONTROLLER_LATER, Field(ge=0)] = None
    """Jobs that one user can have running."""

    max_submitted_jobs_per_user: Annotated[int | None, CONTROLLER_LATER, Field(ge=0)] = None
    """Jobs that one user can have running and waiting."""

    max_resources_per_job: Annotated[Resources, CONTROLLER_LATER] = Field(default_factory=dict)
    """Limit per job."""

    max_resources_per_user: Annotated[Resources, CONTROLLER_LATER] = Field(default_factory=dict)
    """Limit for all jobs of one user together."""

    total_resources: Annotated[Resources, CONTROLLER_LATER] = Field(default_factory=dict)
    """Limit for all jobs of this QOS together."""

    preempts: Annotated[tuple[AccountingName, ...], CONTROLLER_LATER] = ()
    """QOS whose jobs are preempted by jobs of this one."""

    preempt_mode: Annotated[Literal["cancel", "requeue"] | None, CONTROLLER_LATER] = None
    """What happens to a preempted job of this QOS."""


class Account(Section):
    """One account: a team, a project, a cost centre."""

    name: Annotated[AccountingName, CONTROLLER_LATER]
    """Its name, for --account."""

    description: Annotated[
        str,
        CONTROLLER_LATER,
        Field(max_length=200, pattern=r"^[^\x00-\x1f'\"\\|]*$", examples=["Basic research"]),
    ] = ""
    """What it is for."""

    parent: Annotated[AccountingName | None, CONTROLLER_LATER] = None
    """The account above; default: root."""

    shares: Annotated[int, CONTROLLER_LATER, Field(ge=1, le=1_000_000)] = 1
    """Its share of the cluster, beside the accounts with the same parent."""

    qos: Annotated[tuple[AccountingName, ...], CONTROLLER_LATER] = ()
    """QOS that its jobs can use; default: those of the account above, at the top normal."""

    default_qos: Annotated[AccountingName | None, CONTROLLER_LATER] = None
    """QOS of jobs that name none; default: that of the account above, normal, or the first."""

    total_resources: Annotated[Resources, CONTROLLER_LATER] = Field(default_factory=dict)
    """Limit for all jobs of the account together."""


class FairShare(Section):
    """Priorities by Slurm's multifactor plugin: weights of the factors, and decay of past usage."""

    fair_share_weight: Annotated[int, CONTROLLER_LATER, Field(ge=0, le=4_294_967_293)] = 100_000
    """Weight of the fair-share factor."""

    age_weight: Annotated[int, CONTROLLER_LATER, Field(ge=0, le=4_294_967_293)] = 1000
    """Weight of the waiting time."""

    job_size_weight: Annotated[int, CONTROLLER_LATER, Field(ge=0, le=4_294_967_293)] = 0
    """Weight of the job's size."""

    partition_weight: Annotated[int, CONTROLLER_LATER, Field(ge=0, le=4_294_967_293)] = 0
    """Weight of the partition."""

    qos_weight: Annotated[int, CONTROLLER_LATER, Field(ge=0, le=4_294_967_293)] = 10_000
    """Weight of the QOS."""

    half_life_days: Annotated[int, CONTROLLER_LATER, Field(ge=1, le=365)] = 7
    """Half-life of past usage in days."""
