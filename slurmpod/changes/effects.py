"""What changing each field does, section by section: the table behind `slurmpod diff`.

Sources: the "Update requires" lines of the AWS::SageMaker::Cluster page of the CloudFormation
reference; UpdateCluster in the API reference; the SageMaker HyperPod developer guide; and those
that each `effects_of_*` names. A test holds that every field of the model is here.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.changes.effect import (
    ALARMS,
    CLUSTER_AGAIN,
    CONTROLLER_LATER,
    GROUP_AGAIN,
    IN_PLACE,
    NEW_ENVIRONMENT,
    NEW_NODES,
    NODES_GO,
    NOTHING,
    Effect,
    Kind,
)
from slurmpod.changes.effects_of_lifecycle import LESS_LIFECYCLE, LIFECYCLE, STAYS
from slurmpod.changes.effects_of_network import LESS_NETWORK, NETWORK, NO_NETWORK
from slurmpod.changes.effects_of_people import LESS_PEOPLE, NO_PEOPLE, PEOPLE
from slurmpod.changes.effects_of_records import (
    LESS_RECORDS,
    OTHER_RECORDS,
    RECORDS,
    RECORDS_LEFT,
)
from slurmpod.changes.effects_of_storage import LESS_STORAGE, NO_STORAGE, STORAGE
from slurmpod.changes.effects_of_watching import LESS_WATCHING, NO_WATCHING, WATCHING
from slurmpod.model.access import Sessions
from slurmpod.model.cluster import Cluster, Group
from slurmpod.model.environment import Environment, Suppression
from slurmpod.model.lifecycle import Artefact
from slurmpod.model.rds import Rds
from slurmpod.model.slurm import MultiHead, Slurm
from slurmpod.model.slurm_limits import Account, FairShare, Partition, Qos
from slurmpod.model.storage import Scratch
from slurmpod.model.updates import AutoPatch, Rollout, ScheduledUpdate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

EFFECTS: Mapping[type[BaseModel], Mapping[str, Effect]] = MappingProxyType(
    {
        Environment: {
            "name": NEW_ENVIRONMENT,
            "account": NEW_ENVIRONMENT,
            "region": NEW_ENVIRONMENT,
            "protected": IN_PLACE,
            "tags": IN_PLACE,
            "network": IN_PLACE,
            "storage": IN_PLACE,
            "cluster": IN_PLACE,
            "slurm": IN_PLACE,
            "lifecycle": IN_PLACE,
            "access": IN_PLACE,
            "identity": IN_PLACE,
            "monitoring": IN_PLACE,
            "budget": IN_PLACE,
            "suppress": NOTHING,
        },
        Suppression: dict.fromkeys(("rule", "reason"), NOTHING),
        **NETWORK,
        **STORAGE,
        Cluster: {"node_recovery": IN_PLACE, "provisioning": CLUSTER_AGAIN, "groups": IN_PLACE},
        Group: {
            "name": GROUP_AGAIN,
            "role": GROUP_AGAIN,
            "instance_type": GROUP_AGAIN,
            "instance_types": IN_PLACE,
            "count": IN_PLACE,
            "min_count": IN_PLACE,
            "partition": GROUP_AGAIN,
            "zone": GROUP_AGAIN,
            "capacity": GROUP_AGAIN,
            "training_plan_arn": GROUP_AGAIN,
            "threads_per_core": GROUP_AGAIN,
            "network_interface": GROUP_AGAIN,
            "image_id": Effect(
                Kind.LOSES, "the nodes get the image, and lose what is on their root volumes"
            ),
            "volume_gib": NEW_NODES,
            "volume_kms_key_arn": GROUP_AGAIN,
            "root_volume_kms_key_arn": GROUP_AGAIN,
            "deep_health_checks": NEW_NODES,
            "scheduled_update": IN_PLACE,
            "auto_patch": IN_PLACE,
        },
        ScheduledUpdate: dict.fromkeys(("schedule", "rollout"), ALARMS),
        AutoPatch: dict.fromkeys(("strategy", "rollout"), ALARMS),
        Rollout: dict.fromkeys(
            (
                "batch_count",
                "batch_percent",
                "rollback_batch_count",
                "rollback_batch_percent",
                "wait_seconds",
                "rollback_alarms",
            ),
            ALARMS,
        ),
        Slurm: {
            "accounting": CLUSTER_AGAIN,
            "accounting_database": OTHER_RECORDS,
            "rds": OTHER_RECORDS,
            "multi_head": CLUSTER_AGAIN,
            "config_strategy": IN_PLACE,
            **dict.fromkeys(
                ("partitions", "qos", "accounts", "fair_share", "settings"), CONTROLLER_LATER
            ),
        },
        MultiHead: dict.fromkeys(
            ("shared_directory", "database_user", "sns_topic_arn"), CLUSTER_AGAIN
        ),
        Partition: dict.fromkeys(Partition.model_fields, CONTROLLER_LATER),
        Qos: dict.fromkeys(Qos.model_fields, CONTROLLER_LATER),
        Account: dict.fromkeys(Account.model_fields, CONTROLLER_LATER),
        FairShare: dict.fromkeys(FairShare.model_fields, CONTROLLER_LATER),
        **LIFECYCLE,
        **PEOPLE,
        **RECORDS,
        **WATCHING,
    }
)
"""The effect of changing a field, by section and field."""

LESS: Mapping[tuple[type[BaseModel], str], Effect] = MappingProxyType(
    {
        (Group, "count"): NODES_GO,
        **LESS_NETWORK,
        **LESS_STORAGE,
        **LESS_LIFECYCLE,
        **LESS_PEOPLE,
        **LESS_RECORDS,
        **LESS_WATCHING,
        (Sessions, "retention_days"): Effect(Kind.LOSES, "records that are older are deleted"),
    }
)
"""The effect where the new value is less than the old one and that makes a difference."""

IN_CUSTOMER_MODE: Mapping[tuple[type[BaseModel], str], Effect] = MappingProxyType(
    {
        (Group, "partition"): Effect(
            Kind.NEW_NODES,
            "changed in provisioning_parameters.json; a controller that runs keeps the old name "
            "until HyperPod's agent there has read it again: see `sinfo` afterwards",
        ),
    }
)
"""The effect where the scripts, and not the request, tell HyperPod about Slurm."""

REMOVED: Mapping[type[BaseModel], Effect] = MappingProxyType(
    {
        Group: NODES_GO,
        Rds: RECORDS_LEFT,
        Scratch: STAYS,
        Artefact: STAYS,
        Sessions: Effect(
            Kind.IN_PLACE, "people keep what they may until you delete the access stack"
        ),
        **NO_NETWORK,
        **NO_PEOPLE,
        **NO_STORAGE,
        **NO_WATCHING,
    }
)
"""The effect of removing an entry of a list, or a whole section, where the field's is another."""
