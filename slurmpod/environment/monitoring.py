"""The `monitoring` and `budget` sections: alarms, metrics and notifications."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.environment.base import IN_PLACE, NEW_NODES, REPLACEMENT, Effect, Kind, Section
from slurmpod.environment.known import Known
from slurmpod.environment.names import KmsKeyArn
from slurmpod.environment.network import RetentionDays

EmailAddress = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](-*[A-Za-z0-9])*"
        r"(\.[A-Za-z0-9](-*[A-Za-z0-9])*)+$",
        max_length=254,
        examples=["oncall@example.com"],
    ),
]

OTHER_BUDGET = Effect(
    Kind.REPLACES,
    "a new budget replaces the old one, whose history is lost",
    source=REPLACEMENT,
)
NEW_ADDRESSES_CONFIRM = Effect(
    Kind.IN_PLACE, "changed in place; new e-mail addresses must be confirmed first"
)


class Subscribers(Section):
    """Recipients of one severity."""

    emails: Annotated[tuple[EmailAddress, ...], NEW_ADDRESSES_CONFIRM, Field(max_length=20)] = ()
    """E-mail addresses; each gets a link to confirm first."""

    https: Annotated[
        tuple[
            Annotated[
                str,
                Field(
                    pattern=r"^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[^\s\x00-\x1f\x7f\"'<>\\]*)?$",
                    max_length=1024,
                    examples=["https://alerts.example.com/hyperpod"],
                ),
            ],
            ...,
        ],
        IN_PLACE,
        Field(max_length=20),
    ] = ()
    """HTTPS endpoints that receive SNS messages."""


class Notify(Section):
    """Who is notified, by severity. Each severity has a topic, which others can subscribe to."""

    critical: Annotated[Subscribers, NEW_ADDRESSES_CONFIRM] = Field(
        default_factory=Subscribers.model_construct
    )
    """Needs immediate action: the cluster failed, nodes fail, storage is full."""

    warning: Annotated[Subscribers, NEW_ADDRESSES_CONFIRM] = Field(
        default_factory=Subscribers.model_construct
    )
    """Can wait until tomorrow: a node was replaced, storage is filling up."""

    info: Annotated[Subscribers, NEW_ADDRESSES_CONFIRM] = Field(
        default_factory=Subscribers.model_construct
    )
    """For information: the cluster was updated, nodes were added."""


class Alarms(Section):
    """Limits that trigger a notification."""

    file_system_used_percent: Annotated[int, IN_PLACE, Field(ge=1, le=99)] = 85
    """Used part of each file system's capacity."""

    file_system_throughput_percent: Annotated[int | None, IN_PLACE, Field(ge=1, le=100)] = None
    """Used part of each file system's throughput, for half an hour; default: no alarm."""

    nat_gib_per_hour: Annotated[int | None, IN_PLACE, Field(ge=1, le=100_000)] = None
    """Data through each NAT gateway, which costs by the GiB; default: no alarm."""

    missing_nodes_minutes: Annotated[int, IN_PLACE, Field(ge=5, le=1440)] = 60
    """Minutes for which fewer nodes than wanted may be in service."""


class Prometheus(Section):
    """A workspace of Amazon Managed Service for Prometheus, to which the nodes send metrics."""

    scrape_seconds: Annotated[int, NEW_NODES, Field(ge=10, le=120)] = 60
    """Seconds between two samples of each metric; queries forget a value after five minutes."""

    retention_days: Annotated[
        int,
        replace(IN_PLACE, less=Effect(Kind.LOSES, "older metrics are deleted")),
        Field(ge=1, le=1095),
    ] = 150
    """Days for which metrics are kept."""

    kms_key_arn: Annotated[
        KmsKeyArn | None,
        Effect(
            Kind.REPLACES,
            "a new, empty workspace is created; the old one is kept and still billed",
            source=REPLACEMENT,
        ),
    ] = None
    """Key for the workspace; default: AWS's own."""


class Grafana(Section):
    """A workspace of Amazon Managed Grafana with dashboards for the cluster."""

    sign_in: Annotated[Literal["sso", "saml"], IN_PLACE] = "sso"
    """How people sign in: IAM Identity Center, or SAML."""

    version: Annotated[
        str,
        Known("monitoring.grafana.version"),
        replace(
            IN_PLACE,
            less=Effect(
                Kind.REFUSED,
                "Grafana cannot be downgraded",
                source="Grafana API reference, UpdateWorkspaceConfiguration, grafanaVersion",
            ),
        ),
    ] = "10.4"
    """Version of Grafana."""


UPDATED_EXTENSION = "API reference, UpdateClusterExtension"
HYPERPOD_KEEPS = Effect(
    Kind.REFUSED,
    "an update cannot unset a value: remove `observability`, deploy, then add it again",
    source=UPDATED_EXTENSION,
)


class Observability(Section):
    """HyperPod's own collector of metrics, its cluster extension `sagemaker-observability`.

    It runs on every node without lifecycle scripts, and needs no package from the internet. Other
    settings keep HyperPod's defaults.
    """

    version: Annotated[
        Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$", examples=["1.0.0"])] | None,
        replace(
            IN_PLACE,
            less=Effect(
                Kind.REFUSED,
                "HyperPod does not install an earlier version",
                source=UPDATED_EXTENSION,
            ),
        ),
    ] = None
    """Version of the extension; default: the newest at the time of installation, which then stays.
    """

    remote_write_url: Annotated[
        Annotated[
            str,
            Field(
                pattern=r"^https://aps-workspaces\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/workspaces/"
                r"ws-[a-z0-9-]+/api/v1/remote_write$",
                examples=[
                    (
                        "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/"
                        "ws-11111111-2222-3333-4444-555555555555/api/v1/remote_write"
                    )
                ],
            ),
        ]
        | None,
        replace(IN_PLACE, removed=HYPERPOD_KEEPS),
    ] = None
    """A workspace of Amazon Managed Service for Prometheus in this account that gets the metrics;
    default: CloudWatch."""

    node_metrics: Annotated[Literal["BASIC", "ADVANCED"], IN_PLACE] = "BASIC"
    """Level of detail for processors, memory, disks and network."""

    nccl_metrics: Annotated[bool, IN_PLACE] = False
    """Whether collective communication of jobs is measured."""


class Monitoring(Section):
    """Alarms, metrics, logs and dashboards of the environment."""

    notify: Annotated[Notify, IN_PLACE] = Field(default_factory=Notify.model_construct)
    """Recipients by severity."""

    alarms: Annotated[Alarms, IN_PLACE] = Field(default_factory=Alarms.model_construct)
    """Limits that trigger a notification."""

    log_retention_days: Annotated[
        RetentionDays,
        replace(IN_PLACE, less=Effect(Kind.LOSES, "older logs are deleted")),
        Field(examples=[90]),
    ] = 90
    """Days after which the logs of the nodes are deleted."""

    kms_key_arn: Annotated[
        KmsKeyArn | None,
        Effect(Kind.IN_PLACE, "encrypts new data; existing data still needs the old key"),
    ] = None
    """Key for topics and logs, whose policy must let the services use it; default: slurmpod creates
    one.
    """

    dashboard: Annotated[bool, IN_PLACE] = True
    """A dashboard in CloudWatch."""

    prometheus: Annotated[
        Prometheus | None,
        replace(
            NEW_NODES,
            removed=Effect(
                Kind.LOSES, "no new metrics are collected; the workspace is kept and still billed"
            ),
        ),
    ] = None
    """Metrics of nodes, accelerators, file systems and Slurm; default: none are collected."""

    grafana: Annotated[
        Grafana | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.LOSES,
                "the workspace is kept and still billed, but slurmpod no longer manages it",
            ),
        ),
    ] = None
    """Dashboards for these metrics; needs `prometheus`."""

    observability: Annotated[
        Observability | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE, "the collector is removed from the nodes; existing metrics stay"
            ),
        ),
    ] = None
    """HyperPod's own collector of metrics, with continuous provisioning only; default: none."""


class Budget(Section):
    """Limit of the environment's cost, and who is notified before it is exceeded."""

    monthly_usd: Annotated[int, IN_PLACE, Field(ge=1, le=1_000_000_000)]
    """US dollars for a calendar month."""

    actual_percent: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1000)], ...], OTHER_BUDGET, Field(max_length=4)
    ] = (
        50,
        80,
        100,
    )
    """Spent percentages of it that trigger a notification."""

    forecast_percent: Annotated[int | None, OTHER_BUDGET, Field(ge=1, le=1000)] = 100
    """Percentage that the month's forecast may reach; null sends no notification."""

    emails: Annotated[tuple[EmailAddress, ...], OTHER_BUDGET, Field(min_length=1, max_length=10)]
    """Who is notified."""
