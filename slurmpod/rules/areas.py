"""All rules: the areas in the order in which they are applied and documented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rules.accounts import ACCOUNTS
from slurmpod.rules.address_blocks import ADDRESS_BLOCKS
from slurmpod.rules.artefacts import ARTEFACTS
from slurmpod.rules.budget import BUDGET
from slurmpod.rules.capacity import CAPACITY
from slurmpod.rules.cluster import CLUSTER
from slurmpod.rules.data import DATA
from slurmpod.rules.data_buckets import DATA_BUCKETS
from slurmpod.rules.data_repositories import REPOSITORIES
from slurmpod.rules.directory import DIRECTORIES
from slurmpod.rules.existing_network import EXISTING_NETWORK
from slurmpod.rules.fair_share import FAIR_SHARES
from slurmpod.rules.flow_logs import FLOW_LOGS
from slurmpod.rules.form import FORM, RUNNER
from slurmpod.rules.health_checks import HEALTH_CHECKS
from slurmpod.rules.homes import HOMES
from slurmpod.rules.hooks import HOOKS
from slurmpod.rules.identity import IDENTITY
from slurmpod.rules.instance_types import TYPES
from slurmpod.rules.lifecycle import LIFECYCLE
from slurmpod.rules.limits import LIMITS
from slurmpod.rules.lustre import LUSTRE
from slurmpod.rules.lustre_access import ACCESS
from slurmpod.rules.metrics import METRICS
from slurmpod.rules.monitoring import MONITORING
from slurmpod.rules.mounts import MOUNTS
from slurmpod.rules.multi_head import MULTI_HEAD
from slurmpod.rules.network import NETWORK
from slurmpod.rules.node_options import NODE_OPTIONS
from slurmpod.rules.openzfs import ZFS
from slurmpod.rules.own_provisioning import PROVISIONING_FILE
from slurmpod.rules.own_scripts import OWN_SCRIPTS
from slurmpod.rules.partitions import PARTITIONS
from slurmpod.rules.people import PEOPLE
from slurmpod.rules.people_accounts import ACCOUNTS_OF_USERS
from slurmpod.rules.people_keys import KEYS
from slurmpod.rules.provisioning import PROVISIONING
from slurmpod.rules.qos import QUALITIES
from slurmpod.rules.rds import RDS
from slurmpod.rules.region import REGION
from slurmpod.rules.request import REQUEST
from slurmpod.rules.rollouts import ROLLOUTS
from slurmpod.rules.s3_mounts import BUCKETS
from slurmpod.rules.session_groups import WHO
from slurmpod.rules.sessions import SESSIONS
from slurmpod.rules.slurm import SLURM
from slurmpod.rules.slurm_resources import RESOURCES
from slurmpod.rules.slurm_settings import SETTINGS
from slurmpod.rules.slurm_settings_together import TOGETHER
from slurmpod.rules.storage import STORAGE
from slurmpod.rules.tags import TAGS
from slurmpod.rules.tiering import TIERING
from slurmpod.rules.updates import UPDATES
from slurmpod.rules.volumes import VOLUMES
from slurmpod.rules.ways_out import WAYS_OUT
from slurmpod.rules.zones import ZONES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.rules.registry import Rule

AREAS = (
    FORM,
    RUNNER,
    REGION,
    ZONES,
    TAGS,
    NETWORK,
    ADDRESS_BLOCKS,
    WAYS_OUT,
    FLOW_LOGS,
    EXISTING_NETWORK,
    STORAGE,
    DATA,
    MOUNTS,
    LUSTRE,
    TIERING,
    ACCESS,
    REPOSITORIES,
    ZFS,
    BUCKETS,
    CLUSTER,
    TYPES,
    CAPACITY,
    VOLUMES,
    HEALTH_CHECKS,
    UPDATES,
    ROLLOUTS,
    PROVISIONING,
    LIMITS,
    REQUEST,
    SLURM,
    PARTITIONS,
    QUALITIES,
    ACCOUNTS,
    RESOURCES,
    FAIR_SHARES,
    SETTINGS,
    TOGETHER,
    LIFECYCLE,
    NODE_OPTIONS,
    HOOKS,
    ARTEFACTS,
    MULTI_HEAD,
    RDS,
    OWN_SCRIPTS,
    PROVISIONING_FILE,
    PEOPLE,
    KEYS,
    ACCOUNTS_OF_USERS,
    HOMES,
    DIRECTORIES,
    SESSIONS,
    WHO,
    IDENTITY,
    DATA_BUCKETS,
    MONITORING,
    METRICS,
    BUDGET,
)


def all_rules() -> Iterator[Rule]:
    """Return every rule, area by area."""
    for area in AREAS:
        yield from area.rules


def rule_by_id(rule_id: str) -> Rule | None:
    """Return the rule with this id, in whatever case it was typed."""
    return next((rule for rule in all_rules() if rule.id == rule_id.upper()), None)
