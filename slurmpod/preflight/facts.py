"""Facts about an account that decide whether a deployment can succeed: plain, frozen, to be saved.

None stands for what was not asked, or not answered. In a mapping of things that an environment
names, None says that the account does not have the thing. No fact holds a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from embedded_aws.reachability.model import Graph, Interface, Rule
from slurmpod.permissions.identity import NamedIdentity

Document = dict[str, Any]

ROLLED_BACK = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
"""Stacks whose creation failed: `cdk deploy` deletes them before it makes them anew."""


STUCK = "UPDATE_ROLLBACK_FAILED"
"""Stacks that CloudFormation changes only after `continue-update-rollback`."""


@dataclass(frozen=True)
class Unanswered:
    """A field of `Facts` that AWS did not fill, and why; without a `code` it was not reached."""

    question: str
    code: str
    message: str


@dataclass(frozen=True)
class Caller:
    """Who asks: the account of the credentials, and the ARN of their user, role or session."""

    account: str
    arn: str


@dataclass(frozen=True)
class Zone:
    """An Availability Zone of the Region; names mean another place in each account, ids do not."""

    name: str
    id: str
    state: str


@dataclass(frozen=True)
class Quota:
    """A quota that the account has."""

    service: str
    code: str
    name: str
    value: float


@dataclass(frozen=True)
class Usage:
    """How much of what the network's quotas count is there; endpoints by the id of their VPC."""

    vpcs: int
    internet_gateways: int
    elastic_ips: int
    network_interfaces: int
    interface_endpoints: Mapping[str, int]


@dataclass(frozen=True)
class ClusterUse:
    """A HyperPod cluster of the Region, and how many instances of each type it asks for.

    Those of training plans are counted by plan, and not by type; `spot` are those of spot capacity,
    of all types together. Facts that were saved before spot was told apart have none.
    """

    name: str
    status: str
    instances: Mapping[str, int]
    of_plans: Mapping[str, int]
    spot: int = 0

    @property
    def total(self) -> int:
        """How many instances it asks for, whatever their capacity."""
        return sum(self.instances.values()) + sum(self.of_plans.values()) + self.spot


@dataclass(frozen=True)
class FileSystem:
    """An FSx file system; `mount_name` and `deployment_type` are empty where it has none."""

    id: str
    type: str
    deployment_type: str
    capacity_gib: int
    lifecycle: str
    vpc_id: str
    mount_name: str


@dataclass(frozen=True)
class TrainingPlan:
    """A training plan; `zone` is a name, `instances` all that it reserves."""

    status: str
    targets: tuple[str, ...]
    instance_type: str
    zone: str
    instances: int
    starts: datetime | None
    ends: datetime | None


@dataclass(frozen=True)
class Vpc:
    """An existing VPC and its switches for DNS."""

    dns_support: bool
    dns_hostnames: bool


@dataclass(frozen=True)
class ExistingSubnet:
    """A subnet; `default_route` is the id of what its traffic to the internet goes to, or empty."""

    vpc_id: str
    zone: str
    zone_id: str
    cidr: str
    free_addresses: int
    default_route: str


@dataclass(frozen=True)
class SecurityGroup:
    """A security group with its real rules."""

    vpc_id: str
    ingress: tuple[Rule, ...]
    egress: tuple[Rule, ...]


@dataclass(frozen=True)
class Endpoint:
    """A VPC endpoint; `service` is AWS's short name, such as `ecr.api`."""

    service: str
    kind: str
    has_private_dns: bool


@dataclass(frozen=True)
class ExistingNetwork:
    """The network that an environment names, by the ids of its parts; route tables by their VPC."""

    vpcs: Mapping[str, Vpc | None]
    subnets: Mapping[str, ExistingSubnet | None]
    security_groups: Mapping[str, SecurityGroup | None]
    route_tables: Mapping[str, str | None]
    endpoints: tuple[Endpoint, ...]


@dataclass(frozen=True)
class NetworkPaths:
    """What lies between nodes and what they need in an existing VPC.

    `file_systems` has the ids of their interfaces, `database` an interface for each subnet in which
    the server may be.
    """

    graph: Graph
    file_systems: Mapping[str, tuple[str, ...]]
    database: tuple[Interface, ...] = ()


@dataclass(frozen=True)
class Bucket:
    """A bucket; `is_open` tells whether the caller may look at it, `refused` which actions fail.

    `region` is empty where nobody told it, `kms_key` where objects are not encrypted with a key of
    somebody's own. `policy` is None without one.
    """

    is_open: bool
    region: str
    kms_key: str
    policy: Document | None
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Key:
    """A KMS key: its state, and its policy where the caller may read it."""

    state: str
    policy: Document | None
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Secret:
    """A secret: the names of the entries in it, never their values; None where they are closed."""

    is_deleted: bool
    entries: tuple[str, ...] | None
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Image:
    """A machine image; `architecture` is empty where it is not told."""

    state: str
    architecture: str
    created: datetime


@dataclass(frozen=True)
class EndpointFacts:
    """An endpoint of the environment's name, and what one needs: None is what is closed.

    `status` is empty where there is no such endpoint.
    """

    status: str
    has_model: bool | None
    has_image: bool | None


@dataclass(frozen=True)
class FailedRollback:
    """A resource that CloudFormation could not change back, by its logical id, and why."""

    resource: str
    reason: str


@dataclass(frozen=True)
class Leftover:
    """What an earlier deployment left; `problem` says why it cannot be taken back, if it cannot."""

    type: str
    id: str
    problem: str


@dataclass(frozen=True)
class Facts:
    """All facts, when they were gathered, and for which environment."""

    environment: str
    region: str
    taken_at: datetime
    unanswered: tuple[Unanswered, ...] = ()
    caller: Caller | None = None
    region_status: str | None = None
    zones: tuple[Zone, ...] | None = None
    offerings: Mapping[str, tuple[str, ...]] | None = None
    quotas: tuple[Quota, ...] | None = None
    usage: Usage | None = None
    clusters: tuple[ClusterUse, ...] | None = None
    file_systems: tuple[FileSystem, ...] | None = None
    databases: tuple[str, ...] | None = None
    training_plans: Mapping[str, TrainingPlan | None] | None = None
    network: ExistingNetwork | None = None
    paths: NetworkPaths | None = None
    buckets: Mapping[str, Bucket | None] | None = None
    keys: Mapping[str, Key | None] | None = None
    secrets: Mapping[str, Secret | None] | None = None
    images: Mapping[str, Image | None] | None = None
    bootstrap: int | None = None
    stacks: Mapping[str, str] | None = None
    failed_rollbacks: Mapping[str, tuple[FailedRollback, ...]] | None = None
    leftovers: tuple[Leftover, ...] | None = None
    identity: NamedIdentity | None = None
    assumable: Mapping[str, bool] | None = None
    topics: Mapping[str, bool] | None = None
    unconfirmed_emails: tuple[str, ...] | None = None
    has_identity_center: bool | None = None
    cost_tags: Mapping[str, str] | None = None
    endpoint: EndpointFacts | None = None
    notebook_status: str | None = None

    def quota(self, service: str, code_or_name: str) -> float | None:
        """Return the value of a quota by its code, or by its name where codes are not public."""
        values = (
            each.value
            for each in self.quotas or ()
            if each.service == service and code_or_name in (each.code, each.name)
        )
        return next(values, None)

    def zone_id(self, zone: str) -> str:
        """Return the id of a zone that is given by name or id; as given where it is not known."""
        return next((each.id for each in self.zones or () if zone in (each.name, each.id)), zone)

    def will_be_made(self, stack: str | None) -> bool:
        """Return whether a stack is one of the environment's and not there yet, or rolled back."""
        status = (self.stacks or {}).get(stack or "", ROLLED_BACK[0])
        return stack is not None and status in ROLLED_BACK
